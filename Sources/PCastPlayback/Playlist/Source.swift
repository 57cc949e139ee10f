public import PCastJSON

/// Where the media of a video are. A value (Brightcove's `BCOVSource`).
public struct Source: Hashable, Sendable {
    /// A path, or an address of http, https or pcast (``StreamAddress``).
    public var address: String
    public var deliveryMethod: DeliveryMethod
    public var properties: [String: JSONValue]

    /// - Parameter deliveryMethod: nil for the one that the address tells of.
    public init(_ address: String, deliveryMethod: DeliveryMethod? = nil, properties: [String: JSONValue] = [:]) {
        self.address = address
        self.deliveryMethod = deliveryMethod ?? DeliveryMethod(address: address)
        self.properties = properties
    }

    /// The address for people: without what it may hold in secret.
    public var name: String { StreamAddress(address)?.name ?? ContentAddress(address).name }

    var isEncrypted: Bool { address.lowercased().hasPrefix("https:") }

    /// What the seed's rule makes of media: a source that is no `.m3u8` is always of sound and pictures.
    func mediaType(of overview: ContentOverview) -> SourceMediaType {
        guard DeliveryMethod.pathExtension(of: address) == "m3u8" else { return .audioVideo }
        return overview.has(.video) || !overview.has(.audio) ? .audioVideo : .audio
    }
}

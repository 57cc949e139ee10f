public import PCastJSON

/// Where the media of a video are. A value (Brightcove's `BCOVSource`).
public struct Source: Hashable, Sendable {
    /// A path, or an address of http, https or pcast (``StreamAddress``).
    public var address: String
    public var deliveryMethod: DeliveryMethod
    public var properties: [String: JSONValue]
    /// When its media were made, where they do not say so; nil for what they say. Of no effect for a stream of a platform.
    public var wallClock: WallClockMapping?

    /// - Parameters:
    ///   - deliveryMethod: nil for the one that the address tells of.
    ///   - wallClock: when its media were made; nil for what they say.
    public init(
        _ address: String, deliveryMethod: DeliveryMethod? = nil, properties: [String: JSONValue] = [:],
        wallClock: WallClockMapping? = nil
    ) {
        self.address = address
        self.wallClock = wallClock
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

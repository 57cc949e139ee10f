public import PCastJSON

/// The location of the media of a video (Brightcove's `BCOVSource`). Sources with equal properties are equal.
public struct Source: Hashable, Sendable {
    /// A path, or an address with the scheme http, https or pcast (``StreamAddress``).
    public var address: String
    /// The protocol or container that delivers the media.
    public var deliveryMethod: DeliveryMethod
    /// The application-defined properties.
    public var properties: [String: JSONValue]
    /// The wall-clock time of media without times; nil to use the times in the media. It has no effect on a stream of a
    /// platform.
    public var wallClock: WallClockMapping?

    /// Creates a source. A nil `deliveryMethod` is derived from the address. A nil `wallClock` uses the times in the
    /// media.
    public init(
        _ address: String, deliveryMethod: DeliveryMethod? = nil, properties: [String: JSONValue] = [:],
        wallClock: WallClockMapping? = nil
    ) {
        self.address = address
        self.wallClock = wallClock
        self.deliveryMethod = deliveryMethod ?? DeliveryMethod(address: address)
        self.properties = properties
    }

    /// The address for people, without tokens and passwords.
    public var name: String { StreamAddress(address)?.name ?? ContentAddress(address).name }

    /// Whether the address has the scheme https.
    var isEncrypted: Bool { address.lowercased().hasPrefix("https:") }

    /// Returns the media type of the source. Only an `.m3u8` address can be audio only; any other counts as audio and
    /// video (Brightcove's `BCOVSourceMediaType`).
    func mediaType(of overview: ContentOverview) -> SourceMediaType {
        guard DeliveryMethod.pathExtension(of: address) == "m3u8" else { return .audioVideo }
        return overview.has(.video) || !overview.has(.audio) ? .audioVideo : .audio
    }
}

/// The use of a section that a peer offers.
public struct MediaIntent: Sendable {
    /// The wanted direction, from the local view. The answer is limited by the offer.
    public var direction: MediaDirection
    /// The only format to send, for a forwarded stream; nil for any codec.
    public var format: CarriedFormat?
    /// The local source, which is needed to send; nil otherwise.
    public var source: OutgoingSource?

    /// Creates a use of a section.
    public init(direction: MediaDirection, format: CarriedFormat? = nil, source: OutgoingSource? = nil) {
        self.direction = direction
        self.format = format
        self.source = source
    }

    /// Receiving only, as a server answers a publisher.
    public static let receive = MediaIntent(direction: .receiveOnly)

    /// Returns the use of a section that only sends, as a server answers a viewer.
    public static func send(_ format: CarriedFormat?, from source: OutgoingSource) -> MediaIntent {
        MediaIntent(direction: .sendOnly, format: format, source: source)
    }
}

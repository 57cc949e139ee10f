/// What we want of a section that a peer offers.
public struct MediaIntent: Sendable {
    /// Seen from our side; the answer takes no more of it than the offer allows.
    public var direction: MediaDirection
    /// The only format we send, when we relay a stream; nil when any codec will do.
    public var format: CarriedFormat?
    /// Needed to send.
    public var source: OutgoingSource?

    public init(direction: MediaDirection, format: CarriedFormat? = nil, source: OutgoingSource? = nil) {
        self.direction = direction
        self.format = format
        self.source = source
    }

    /// As a server answers a publisher.
    public static let receive = MediaIntent(direction: .receiveOnly)

    /// As a server answers a viewer.
    public static func send(_ format: CarriedFormat?, from source: OutgoingSource) -> MediaIntent {
        MediaIntent(direction: .sendOnly, format: format, source: source)
    }
}

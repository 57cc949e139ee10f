/// The direction of media, from the view of the side that wrote the description (RFC 8866, section 6.7).
public enum MediaDirection: String, Hashable, Sendable, CaseIterable {
    /// The side sends and receives.
    case sendReceive = "sendrecv"
    /// The side only sends.
    case sendOnly = "sendonly"
    /// The side only receives.
    case receiveOnly = "recvonly"
    case inactive

    /// Whether the side that wrote the description sends.
    public var sends: Bool { self == .sendReceive || self == .sendOnly }
    /// Whether the side that wrote the description receives.
    public var receives: Bool { self == .sendReceive || self == .receiveOnly }

    /// Creates the direction in which the side sends and receives as given.
    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    /// The direction from the view of the other side.
    public var reversed: MediaDirection { MediaDirection(sends: receives, receives: sends) }

    /// Returns the direction that both allow.
    public func intersection(_ other: MediaDirection) -> MediaDirection {
        MediaDirection(sends: sends && other.sends, receives: receives && other.receives)
    }
}

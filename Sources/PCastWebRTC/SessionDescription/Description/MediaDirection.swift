/// Which way media flows, seen from the side whose description carries it (RFC 8866, section 6.7).
public enum MediaDirection: String, Hashable, Sendable, CaseIterable {
    case sendReceive = "sendrecv"
    case sendOnly = "sendonly"
    case receiveOnly = "recvonly"
    case inactive

    /// Whether the side whose description it is sends.
    public var sends: Bool { self == .sendReceive || self == .sendOnly }
    /// Whether the side whose description it is receives.
    public var receives: Bool { self == .sendReceive || self == .receiveOnly }

    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    /// The same flow seen from the other side.
    public var reversed: MediaDirection { MediaDirection(sends: receives, receives: sends) }

    /// What both allow.
    public func intersection(_ other: MediaDirection) -> MediaDirection {
        MediaDirection(sends: sends && other.sends, receives: receives && other.receives)
    }
}

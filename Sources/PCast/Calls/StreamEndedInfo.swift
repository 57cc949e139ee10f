public import PCastCore

/// The cause of a stream's end (Phenix: `PhenixMediaStreamEndedInfo`, `PhenixPublisherEndedInfo`).
public struct StreamEndedInfo: Hashable, Sendable {
    /// The party that ended the stream.
    public enum EndingParty: String, Hashable, Sendable {
        /// The platform, or a peer behind it.
        case platform
        /// This program, with `stop`.
        case stop
        /// The source of a published stream, which has ended.
        case source
        /// The media connection, which failed.
        case connection
    }

    /// The party that ended the stream.
    public var ender: EndingParty
    /// The reason for the end.
    public var reason: StreamEndedReason
    /// The text that came with the reason. It is the whole reason if that is ``StreamEndedReason/custom``.
    public var reasonDescription: String

    /// Creates the cause of an end from its parts.
    public init(ender: EndingParty, reason: StreamEndedReason, reasonDescription: String) {
        self.ender = ender
        self.reason = reason
        self.reasonDescription = reasonDescription
    }

    /// Creates the cause of an end from the reason string of the protocol.
    init(ender: EndingParty, wire text: String) {
        self.init(ender: ender, reason: StreamEndedReason(wire: text), reasonDescription: text)
    }
}

public import PCastCore

/// How a stream ended (Phenix: `PhenixMediaStreamEndedInfo`, `PhenixPublisherEndedInfo`).
public struct StreamEndedInfo: Hashable, Sendable {
    /// Who ended it.
    public enum Ender: String, Hashable, Sendable {
        /// The platform, or what goes on behind it.
        case platform
        /// This program, by `stop`.
        case stop
        /// The source of a published stream came to its end.
        case source
        /// The media connection failed.
        case connection
    }

    public var ender: Ender
    public var reason: StreamEndedReason
    /// The words that came with it; the whole reason where that is ``StreamEndedReason/custom``.
    public var reasonDescription: String

    public init(ender: Ender, reason: StreamEndedReason, reasonDescription: String) {
        self.ender = ender
        self.reason = reason
        self.reasonDescription = reasonDescription
    }

    /// - Parameter text: the reason string of the wire.
    init(ender: Ender, wire text: String) {
        self.init(ender: ender, reason: StreamEndedReason(wire: text), reasonDescription: text)
    }
}

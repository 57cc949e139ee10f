import PCastMedia
import PCastRelay
import PCastWebRTC

/// A publisher or a viewer at the platform: what its door keeps of it.
struct Participation: Sendable {
    let peer: PeerID
    /// A viewer has a stream id of its own, as in the protocol.
    let streamID: StreamID
    let isPublisher: Bool
    let answer: SessionDescription
}

/// How a participation ended.
struct StreamEnd: Sendable {
    let streamID: StreamID
    let reason: StreamEndedReason
    /// The text of a custom reason.
    let description: String

    /// Failures that the wire tells apart, and what they are told to.
    private static let finerWords: Set<String> = ["egress-failed", "egress-setup-failed"]

    /// As `StreamEnded.reason` on the wire, which `StreamEndedReason.init(wire:)` reads as ``reason``.
    var wire: String {
        switch reason {
        case .custom: description
        case .failed where Self.finerWords.contains(description): description
        default: reason.rawValue
        }
    }
}

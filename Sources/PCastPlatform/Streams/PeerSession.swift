import PCastCore
import PCastSFU
import PCastWebRTC

/// The result of adding a publisher or subscriber, for the endpoint that requested it.
struct PeerSession: Sendable {
    let peer: PeerID
    /// The identifier of the stream. As in the signaling protocol, a subscriber has its own stream identifier.
    let streamID: StreamID
    let isPublisher: Bool
    /// The platform's session description: the answer to the client's offer, or an offer to answer.
    let description: SessionDescription
    /// The capabilities of the token that have no effect.
    var ignoredCapabilities: [String] = []

    var answer: SessionDescription { description }
}

/// The end of a stream or viewing.
struct StreamEnd: Sendable {
    let streamID: StreamID
    let reason: StreamEndedReason
    /// The text of a custom reason.
    let description: String

    /// The failures with their own text in the protocol.
    private static let specificFailures: Set<String> = ["egress-failed", "egress-setup-failed"]

    /// The text of `StreamEnded.reason` in the protocol, which `StreamEndedReason.init(wire:)` parses to ``reason``.
    var wire: String {
        switch reason {
        case .custom: description
        case .failed where Self.specificFailures.contains(description): description
        default: reason.rawValue
        }
    }
}

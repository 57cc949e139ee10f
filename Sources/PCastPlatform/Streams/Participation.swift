import PCastMedia
import PCastRelay
import PCastWebRTC

/// A publisher or a viewer at the platform: what its door keeps of it.
struct Participation: Sendable {
    let peer: PeerID
    /// A viewer has a stream id of its own, as in the protocol.
    let streamID: StreamID
    let isPublisher: Bool
    /// Ours: the answer to its offer, or the offer that it has to answer.
    let description: SessionDescription
    /// Its token's capabilities that have no effect.
    var ignoredCapabilities: [String] = []

    var answer: SessionDescription { description }
}

/// How a participation ended.
struct StreamEnd: Sendable {
    let streamID: StreamID
    let reason: StreamEndedReason
    /// The text of a custom reason.
    let description: String

    /// As `StreamEnded.reason` on the wire.
    var wire: String { reason == .custom ? description : reason.rawValue }
}

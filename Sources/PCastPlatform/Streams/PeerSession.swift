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
    /// The time for which the client may answer ``description`` if it is a counter-offer to the client's offer; nil
    /// otherwise.
    var counterOfferValidity: TimeSpan?
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

    /// The end of a stream as an event for the host.
    var event: StreamEvent { .ended(streamID, reason, description: description) }
}

/// A request of a publisher or subscriber to resume a stream or viewing.
enum ResumeRequest: Hashable, Sendable {
    /// Resumes this stream or viewing.
    case stream(StreamID)
    /// Resumes the stream that was published with the same token, or with tokens that apply the same tags, if its
    /// publisher is disconnected. Otherwise it begins a new one.
    case former

    /// The values in `CreateStream.options`; see docs/SESSIONS.md.
    private static let resume = "resume-stream="
    private static let resumeFormer = "resume"

    /// Parses the options of `CreateStream`; nil if there is no such request.
    init?(options: [String]) {
        for option in options {
            if option == Self.resumeFormer {
                self = .former
                return
            }
            guard option.hasPrefix(Self.resume) else { continue }
            self = .stream(StreamID(String(option.dropFirst(Self.resume.count))))
            return
        }
        return nil
    }
}

/// The reason why a stream ended (Phenix: `PhenixStreamEndedReason`).
public enum StreamEndedReason: String, Sendable, CaseIterable {
    /// The stream ended normally.
    case ended
    case failed
    case censored
    case maintenance
    case capacity
    case appBackground = "app-background"
    case overload
    case pcastStop = "pcast-stop"
    /// A reason that the application defines. The accompanying description contains its text.
    case custom

    /// Parses the reason of the protocol (`StreamEnded.reason`, `DestroyStream.reason`). Unknown text is `custom`, and
    /// the caller keeps the text as the description.
    public init(wire text: String) {
        switch text {
        case "", "none", "ended": self = .ended
        case "server-error", "session-error", "not-ready", "error", "died", "failed",
            "egress-failed", "egress-setup-failed":
            self = .failed
        default: self = StreamEndedReason(rawValue: text) ?? .custom
        }
    }
}

/// Why a stream ended (seed 004, "PhenixStreamEndedReason").
public enum StreamEndedReason: String, Sendable, CaseIterable {
    /// Normally.
    case ended
    case failed
    case censored
    case maintenance
    case capacity
    case appBackground = "app-background"
    case overload
    case pcastStop = "pcast-stop"
    /// A reason of the application's own; the text is in the description that comes with it.
    case custom

    /// Reads the reason string of the wire (`StreamEnded.reason`, `DestroyStream.reason`); what is no known word is
    /// custom, and the caller keeps the text as description.
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

public import PCastCore

extension RequestStatus {
    /// The status in a response of the protocol.
    public var wire: String {
        switch self {
        case .ok: "ok"
        case .noStreamPlaying: "no-stream-playing"
        case .badRequest: "bad-request"
        case .unauthorized: "unauthorized"
        case .conflict: "conflict"
        case .gone: "gone"
        case .notInitialized: "not-initialized"
        case .notStarted: "not-started"
        case .rateLimited: "rate-limited"
        case .upgradeRequired: "upgrade-required"
        case .failed: "failed"
        case .capacity: "capacity"
        case .timeout: "timeout"
        case .notReady: "not-ready"
        }
    }

    /// Parses the status of a response. An unknown status becomes ``failed``.
    public init(wire text: String) {
        switch text {
        case "origin-stream-not-found", "origin-not-found", "origin-stream-ended", "origin-ended",
            "streaming-not-available":
            self = .noStreamPlaying
        case "streaming-not-ready": self = .notReady
        case "unsupported-features", "no-supported-features", "conflicting-options": self = .badRequest
        case "not-found": self = .gone
        case "bad-token": self = .unauthorized
        default: self = Self.allCases.first { $0.wire == text } ?? .failed
        }
    }
}

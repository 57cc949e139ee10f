import PCastCore
import PCastSignaling

extension PCastError {
    /// Creates the error for a request without a usable response.
    init(_ failure: SignalingFailure, asking what: String) {
        switch failure {
        case .timeout: self.init(.timeout, .connection, "the platform did not respond to \(what) in time")
        case .disconnected: self.init(.failed, .connection, "the connection was lost during \(what): retry once online")
        case .tooManyOutstanding: self.init(.rateLimited, .usage, "too many requests are waiting for a response")
        case .refused(let reason): self.init(.failed, .platform, "the platform rejected \(what): \(reason)")
        case .malformedResponse:
            self.init(
                .failed, .platform,
                "the platform's response to \(what) is malformed: check that the address is that of a PCast platform")
        }
    }

    /// Creates the error for a response with a status other than `ok`.
    ///
    /// - Parameters:
    ///   - text: The status of the protocol.
    ///   - what: The name of the request.
    ///   - reason: The platform's reason; nil if there is none.
    init(refusal text: String, of what: String, because reason: String? = nil) {
        let status = RequestStatus(wire: text)
        // Advice may follow in the same sentence.
        let words = reason.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 } ?? status.unresponsiveAdvice
        let answer = "the platform responded to \(what) with “\(text)”"
        self.init(status, .platform, words.map { "\(answer): \($0)" } ?? answer)
    }

    /// Returns the error for an operation that needs a started session.
    static func notStarted(_ what: String) -> PCastError {
        PCastError(.notStarted, .usage, "\(what) needs a session")
    }

    /// Returns the error for an operation while the session reconnects.
    static func offline(_ what: String) -> PCastError {
        PCastError(.notReady, .connection, "\(what) needs a connection, and the session is reconnecting")
    }

    /// The error for an operation after shutdown.
    static let shutDown = PCastError(.gone, .usage, "this PCast was shut down")

    /// The error for an operation during which the session was stopped.
    static let stopped = PCastError(.notStarted, .usage, "this PCast was stopped in the meantime")
}

extension RequestStatus {
    /// The advice after a refusal with an unspecific status and no reason; nil for other statuses.
    fileprivate var unresponsiveAdvice: String? {
        switch self {
        case .badRequest: "do not retry; change the request, the platform's log states what is unsupported"
        case .failed: "retry once, and check the platform's log if that does not help"
        default: nil
        }
    }
}

import PCastCore
import PCastSignaling

extension PCastError {
    /// Why a request has no response.
    init(_ failure: SignalingFailure, asking what: String) {
        switch failure {
        case .timeout: self.init(.timeout, .connection, "the platform did not answer \(what) in time")
        case .disconnected: self.init(.failed, .connection, "the connection broke during \(what): retry once online")
        case .tooManyOutstanding: self.init(.rateLimited, .usage, "too many requests wait for answers")
        case .refused(let reason): self.init(.failed, .platform, "the platform refused \(what): \(reason)")
        case .malformedResponse:
            self.init(.failed, .platform, "the platform answered \(what) with what cannot be read: is it a PCast one?")
        }
    }

    /// The platform answered `what` with another word than `ok`.
    ///
    /// - Parameter reason: what the platform says about it; nil where it says no more.
    init(refusal text: String, of what: String, because reason: String? = nil) {
        let status = RequestStatus(wire: text)
        // What to do may follow it in the same sentence.
        let words = reason.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 } ?? status.adviceOnSilence
        let answer = "the platform answered \(what) with “\(text)”"
        self.init(status, .platform, words.map { "\(answer): \($0)" } ?? answer)
    }

    static func notStarted(_ what: String) -> PCastError {
        PCastError(.notStarted, .usage, "\(what) needs a session")
    }

    static func offline(_ what: String) -> PCastError {
        PCastError(.notReady, .connection, "\(what) needs a connection, which is being made again")
    }

    static let shutDown = PCastError(.gone, .usage, "this PCast was shut down")

    static let stopped = PCastError(.notStarted, .usage, "this PCast was stopped meanwhile")
}

extension RequestStatus {
    /// What to do about a refusal of which nothing is known but a word that can mean anything; nil for other words.
    fileprivate var adviceOnSilence: String? {
        switch self {
        case .badRequest: "do not retry; ask for something else, the platform's log says what it does not do"
        case .failed: "retry once, and look into the platform's log when that does not help"
        default: nil
        }
    }
}

import PCastMedia
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
    init(refusal text: String, of what: String) {
        self.init(RequestStatus(wire: text), .platform, "the platform answered \(what) with “\(text)”")
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

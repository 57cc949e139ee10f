public import PCastCore
import PCastDevices
import PCastSignaling

/// The reason for which an operation of the SDK failed. Its text says what to do next.
///
/// Callbacks receive only the ``status``; `async` functions throw the whole error.
public struct PCastError: Error, Hashable, Sendable {
    /// The part that failed.
    public enum Cause: Hashable, Sendable {
        /// No platform responds, or the connection to it was lost.
        case connection
        /// The platform responded with a refusal.
        case platform
        /// A device, a file or a codec on this machine.
        case device
        /// The media connection of a stream.
        case media
        /// The call itself: an argument is invalid, or the state does not permit it.
        case usage
    }

    /// The result of the request (Phenix: `PhenixRequestStatus`). It is never ``RequestStatus/ok``.
    public let status: RequestStatus
    /// The part that failed.
    public let cause: Cause
    /// The failure and what to do about it, as a text for people. It contains no token and no key.
    public let description: String

    /// Creates an error. The advice for the status, if there is any, is added to the description.
    init(_ status: RequestStatus, _ cause: Cause, _ description: String) {
        self.status = status
        self.cause = cause
        self.description = status.advice.map { "\(description): \($0)" } ?? description
    }
}

extension PCastError: CustomStringConvertible {}

extension RequestStatus {
    /// The advice after a request with this result; nil if it depends on the request.
    fileprivate var advice: String? {
        switch self {
        case .ok, .badRequest, .failed, .notInitialized: nil
        case .noStreamPlaying: "check the stream ID and its tags, or try again when it is published"
        case .unauthorized: "get a new token, because this one is invalid, expired or for another use"
        case .conflict: "do not retry; end the conflicting stream first"
        case .gone: "do not retry; request another one"
        case .notStarted: "call start first"
        case .rateLimited: "retry later, and less often"
        case .upgradeRequired: "use a newer version of this library"
        case .capacity: "retry later; the platform has reached its capacity"
        case .timeout: "retry once"
        case .notReady: "retry in a moment"
        }
    }
}

extension PCastError {
    /// Creates the error for a source that could not be opened or started.
    init(_ error: DeviceError) {
        let status: RequestStatus =
            switch error {
            case .unusable, .noConstraint: .badRequest
            case .busy: .conflict
            case .notFound, .forbidden, .unmet, .faulty, .unreadable, .noTrack, .misconfigured, .noThread: .failed
            }
        self.init(status, .device, "\(error)")
    }
}

extension PCastError {
    /// Creates the error for a request without a usable response.
    init(_ failure: SignalingFailure, during operation: String) {
        switch failure {
        case .timeout: self.init(.timeout, .connection, "the platform did not respond to \(operation) in time")
        case .disconnected:
            self.init(.failed, .connection, "the connection was lost during \(operation): retry once online")
        case .tooManyOutstanding: self.init(.rateLimited, .usage, "too many requests are waiting for a response")
        case .refused(let reason): self.init(.failed, .platform, "the platform rejected \(operation): \(reason)")
        case .malformedResponse:
            self.init(
                .failed, .platform,
                "the platform's response to \(operation) is malformed: check that the address is that of a PCast platform"
            )
        }
    }

    /// Creates the error for a response with a status other than `ok`.
    ///
    /// - Parameters:
    ///   - text: The status of the protocol.
    ///   - operation: The name of the request.
    ///   - reason: The platform's reason; nil if there is none.
    init(refusal text: String, of operation: String, because reason: String? = nil) {
        let status = RequestStatus(wire: text)
        // Advice may follow in the same sentence.
        let words = reason.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 } ?? status.unresponsiveAdvice
        let answer = "the platform responded to \(operation) with “\(text)”"
        self.init(status, .platform, words.map { "\(answer): \($0)" } ?? answer)
    }

    /// Returns the error for an operation that needs a started session.
    static func notStarted(_ operation: String) -> PCastError {
        PCastError(.notStarted, .usage, "\(operation) needs a session")
    }

    /// Returns the error for an operation while the session reconnects.
    static func offline(_ operation: String) -> PCastError {
        PCastError(.notReady, .connection, "\(operation) needs a connection, and the session is reconnecting")
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

public import PCastCore

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

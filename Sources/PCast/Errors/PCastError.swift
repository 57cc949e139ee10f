public import PCastCore

/// Why an operation of the SDK failed; its text says what to do next.
///
/// The callbacks of seed 004 get the ``status`` alone; `async` functions throw the whole.
public struct PCastError: Error, Hashable, Sendable {
    /// What stands in the way.
    public enum Cause: Hashable, Sendable {
        /// No platform answers, or the connection to it broke.
        case connection
        /// The platform answered, and refused.
        case platform
        /// A device, a file or a codec on this machine.
        case device
        /// The media connection of a stream.
        case media
        /// The call itself: an argument, or a state in which it cannot be.
        case usage
    }

    /// How the request ended (Phenix: `PhenixRequestStatus`); never ``RequestStatus/ok``.
    public let status: RequestStatus
    public let cause: Cause
    /// What failed and what to do about it, for people. Holds no token and no key.
    public let description: String

    /// - Parameter description: what failed; what to do next is added where the status knows it.
    init(_ status: RequestStatus, _ cause: Cause, _ description: String) {
        self.status = status
        self.cause = cause
        self.description = status.advice.map { "\(description): \($0)" } ?? description
    }
}

extension PCastError: CustomStringConvertible {}

extension RequestStatus {
    /// What to do after a request ended so; nil where that depends on the request.
    fileprivate var advice: String? {
        switch self {
        case .ok, .badRequest, .failed, .notInitialized: nil
        case .noStreamPlaying: "check the stream id and its tags, or try again when it is published"
        case .unauthorized: "ask for a new token, this one is refused, expired or for something else"
        case .conflict: "do not retry; end what it conflicts with first"
        case .gone: "do not retry; ask for another"
        case .notStarted: "call start first"
        case .rateLimited: "retry later, and less often"
        case .upgradeRequired: "use a newer version of this library"
        case .capacity: "retry later; the platform has no room at the moment"
        case .timeout: "retry once"
        case .notReady: "retry in a moment"
        }
    }
}

package import PCastCore

/// The reason for which a request has no usable response.
package enum SignalingFailure: Error, Hashable, Sendable {
    /// No response arrived within ``ClientSignalingMachine/requestTimeout``.
    case timeout
    /// The connection was lost, or there was none.
    case disconnected
    /// There are already ``ClientSignalingMachine/maximumOutstanding`` outstanding requests.
    case tooManyOutstanding
    /// The platform responded with `mq.Error` and this reason.
    case refused(reason: String)
    /// The response does not match the request, or is malformed.
    case malformedResponse

    /// The status for the application.
    package var status: RequestStatus {
        switch self {
        case .timeout: .timeout
        case .tooManyOutstanding: .rateLimited
        case .disconnected, .refused, .malformedResponse: .failed
        }
    }
}

public import PCastCore

/// Why a request has no response.
public enum SignalingFailure: Error, Hashable, Sendable {
    /// None came within ``ClientConversation/requestTimeout``.
    case timeout
    /// The connection broke, or there was none.
    case disconnected
    /// ``ClientConversation/maximumOutstanding`` requests are waiting already.
    case tooManyOutstanding
    /// The platform answered `mq.Error` with this reason.
    case refused(reason: String)
    /// The response is of another type than the request, or cannot be read.
    case malformedResponse

    public var status: RequestStatus {
        switch self {
        case .timeout: .timeout
        case .tooManyOutstanding: .rateLimited
        case .disconnected, .refused, .malformedResponse: .failed
        }
    }
}

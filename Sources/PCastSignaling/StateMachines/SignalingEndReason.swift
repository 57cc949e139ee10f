/// The reason for which the platform ends a conversation.
package enum SignalingEndReason: Hashable, Sendable {
    /// The client sent `Bye` and received its response.
    case bye
    /// Nothing arrived for ``ServerSignalingMachine/silenceLimit``.
    case unresponsive
    /// The client did not authenticate within ``ServerSignalingMachine/authenticationLimit``.
    case unauthenticated
    /// The client sent ``ServerSignalingMachine/maximumMalformed`` malformed messages, or
    /// ``ServerSignalingMachine/maximumExcess`` requests above its rate limit.
    case malformed
}

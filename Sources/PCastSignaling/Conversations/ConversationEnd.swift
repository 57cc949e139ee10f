/// The reason for which the platform ends a conversation.
public enum ConversationEnd: Hashable, Sendable {
    /// The client sent `Bye` and received its response.
    case bye
    /// Nothing arrived for ``ServerConversation/silenceLimit``.
    case unresponsive
    /// The client did not authenticate within ``ServerConversation/authenticationLimit``.
    case unauthenticated
    /// The client sent ``ServerConversation/maximumMalformed`` malformed messages, or
    /// ``ServerConversation/maximumExcess`` requests above its rate limit.
    case malformed
}

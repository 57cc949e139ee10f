/// Why the platform ends a conversation.
public enum ConversationEnd: Hashable, Sendable {
    /// The client said `Bye`, and was answered.
    case bye
    /// Nothing was heard for ``ServerConversation/silenceLimit``.
    case unresponsive
    /// No session within ``ServerConversation/authenticationLimit``.
    case unauthenticated
    /// ``ServerConversation/maximumMalformed`` messages could not be read.
    case malformed
}

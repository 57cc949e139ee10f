public import PCastMedia

/// What became of a STUN message that an agent was given.
public struct ICEOutcome: Sendable {
    /// Why a message was refused, for the counters.
    public enum Rejection: Sendable {
        case badFingerprint
        case badRequest
        case unauthenticated
        case unknownAttributes
        case roleConflict

        /// An answer that belongs to no check of ours, or came another way than the check went.
        case unexpectedAnswer
    }

    /// Bytes of the answer in the buffer, to be sent back the way the message came; 0 for none.
    public var replyLength = 0

    /// The message was the peer's, by MESSAGE-INTEGRITY.
    public var isAuthenticated = false

    /// It was an accepted request that nominates its path.
    public var isNomination = false

    /// The path that is selected from now on; nil when the selection did not change.
    public var newlySelectedPath: NetworkPath?

    public var rejection: Rejection?

    public init() {}

    static func rejected(_ rejection: Rejection, replyLength: Int = 0) -> ICEOutcome {
        var outcome = ICEOutcome()
        outcome.rejection = rejection
        outcome.replyLength = replyLength
        return outcome
    }
}

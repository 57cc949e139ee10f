package import PCastCore

/// The result of processing a STUN message.
package struct ICEOutcome: Sendable {
    /// The reason why a message was rejected, for metrics.
    package enum Rejection: Sendable {
        /// FINGERPRINT is wrong.
        case badFingerprint
        /// USERNAME or MESSAGE-INTEGRITY is missing.
        case badRequest
        /// USERNAME or MESSAGE-INTEGRITY is wrong.
        case unauthenticated
        /// The message has unknown attributes that must be understood.
        case unknownAttributes
        /// Both agents have the same role.
        case roleConflict

        /// The response matches no check, or arrived on another path than the check.
        case unexpectedAnswer
    }

    /// The size of the response in the buffer in bytes, to be sent back on the path of the message; 0 for none.
    package var replyLength = 0

    /// Whether MESSAGE-INTEGRITY shows that the peer sent the message.
    package var isAuthenticated = false

    /// Whether the message was authenticated by the credentials before an ICE restart.
    package var usesPreviousCredentials = false

    /// Whether the message is an accepted request with USE-CANDIDATE.
    package var isNomination = false

    /// The path that is newly selected; nil if the selection has not changed.
    package var newlySelectedPath: NetworkPath?

    /// The reason why the message was rejected; nil if it was not.
    package var rejection: Rejection?

    /// Creates the result of a message without effect.
    package init() {}

    /// Returns the result of a rejected message.
    static func rejected(_ rejection: Rejection, replyLength: Int = 0) -> ICEOutcome {
        var outcome = ICEOutcome()
        outcome.rejection = rejection
        outcome.replyLength = replyLength
        return outcome
    }
}

import PCast

/// Where and how a run publishes, whatever it is made of.
struct PublicationPlan: Sendable {
    let uri: String?
    let tokens: [String]
    /// Of the platform that is started along; nil for the usual place.
    let listen: ListenArgument?
    let tags: [String]
    let encoding: PublishOptions
    let duration: TimeSpan?
    /// Whether the run ends with its stream, whatever the reason.
    let isOnce: Bool

    /// - Throws: `CommandFailure` for a place of a platform that is not started along.
    init(
        uri: String?, tokens: [String], listen: ListenArgument?, tags: [String], encoding: PublishOptions,
        duration: TimeSpan?, isOnce: Bool
    ) throws {
        (self.uri, self.tokens, self.listen, self.tags) = (uri, tokens, listen, tags)
        (self.encoding, self.duration, self.isOnce) = (encoding, duration, isOnce)
        if listen != nil, !isEmbedded {
            throw CommandFailure(.unusableArguments, "--listen is for the platform started along: leave --uri away.")
        }
    }

    /// Whether a platform is started along.
    var isEmbedded: Bool { uri == nil && tokens.allSatisfy { TokenPair.field("uri", of: $0) == nil } }

    var policy: RecoveryPolicy { ClientRun.policy(isOnce: isOnce) }
}

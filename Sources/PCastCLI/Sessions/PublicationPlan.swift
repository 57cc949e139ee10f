import PCast

/// The options of publishing that are independent of the source.
struct PublicationPlan: Sendable {
    let uri: String?
    let tokens: [String]
    /// The address of an embedded platform; nil for the default.
    let listen: ListenArgument?
    let tags: [String]
    let encoding: PublishOptions
    let duration: TimeSpan?
    /// Whether the run ends with its stream for any reason.
    let noReconnect: Bool

    /// Creates a plan.
    ///
    /// - Throws: ``CommandFailure`` if `listen` is given but no platform is embedded.
    init(
        uri: String?, tokens: [String], listen: ListenArgument?, tags: [String], encoding: PublishOptions,
        duration: TimeSpan?, noReconnect: Bool
    ) throws {
        (self.uri, self.tokens, self.listen, self.tags) = (uri, tokens, listen, tags)
        (self.encoding, self.duration, self.noReconnect) = (encoding, duration, noReconnect)
        if listen != nil, !isEmbedded {
            throw CommandFailure(
                .unusableArguments,
                "--listen is for the embedded platform: remove it, or remove --uri and the token that names a platform."
            )
        }
    }

    /// Whether a platform is started in this process.
    var isEmbedded: Bool { uri == nil && tokens.allSatisfy { TokenPair.field("uri", of: $0) == nil } }

    var policy: RecoveryPolicy { ClientRun.policy(noReconnect: noReconnect) }
}

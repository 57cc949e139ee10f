import ArgumentParser
import PCastCore
import PCastEdgeAuth
import PCastJSON

/// The command `pcast token create`.
struct TokenCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make an EdgeAuth token and print it, alone.",
        discussion: """
            A token says whom it lets do what, and until when; whoever holds it may do that, so hand it on with care. \
            Without --type it authenticates and lets view.

            For example, one hour to view the stream ID:
              pcast token create --application my-app:my-secret --expires-in 1h --type stream --stream ID
            """)

    @Option(help: ArgumentHelp("The application that signs, and its secret.", valueName: "id:secret"))
    var application: ApplicationArgument

    @Option(help: ArgumentHelp("Worth nothing after this long, from now on.", valueName: "duration"))
    var expiresIn: DurationArgument?

    @Option(help: ArgumentHelp("Worth nothing from this moment on, in milliseconds since 1970.", valueName: "ms"))
    var expiresAt: Int64?

    @Option(help: "The address of the platform, so that whoever has the token needs no other.")
    var uri: String?

    @Option(help: ArgumentHelp("Only streams that carry this tag may be viewed.", valueName: "tag"))
    var requiredTag: String?

    @Option(help: ArgumentHelp("Only this IP address may use it.", valueName: "address"))
    var remoteAddress: String?

    @Option(help: ArgumentHelp("Only this session may use it.", valueName: "id"))
    var session: String?

    @Option(help: ArgumentHelp("Only this stream may be viewed.", valueName: "id"))
    var stream: String?

    @Option(help: "Good for one thing only: auth, stream or publish.")
    var type: TokenTypeArgument?

    @Option(help: ArgumentHelp("A tag for the stream that is made with it; may be repeated.", valueName: "tag"))
    var applyTag: [String] = []

    @Option(help: ArgumentHelp("Grants the stream a capability; may be repeated.", valueName: "capability"))
    var capability: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (expiresIn == nil) != (expiresAt == nil) else {
            throw ValidationError("Say when it expires: either --expires-in or --expires-at.")
        }
        if let expiresAt, expiresAt <= 0 || expiresAt >= 1 << 53 {
            throw ValidationError("--expires-at is in milliseconds since 1970, above zero and below 2^53.")
        }
    }

    func run() throws {
        let token = try encodedToken(at: SystemClock.now())
        let console = Console(output)
        console.event("token", ["token": .string(token)])
        console.result(token)
    }

    /// Returns the token. The order of its fields does not depend on the order of the options.
    ///
    /// - Throws: ``CommandFailure`` if the token cannot be created.
    func encodedToken(at now: WallTime) throws -> String {
        var builder = EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
        if let uri { builder = builder.withUri(uri) }
        if let expiresAt { builder = builder.expiresAt(milliseconds: expiresAt) }
        if let expiresIn { builder = builder.expiresIn(expiresIn.span, from: now) }
        if let requiredTag { builder = builder.forTag(requiredTag) }
        if let remoteAddress { builder = builder.forRemoteAddress(remoteAddress) }
        if let session { builder = builder.forSession(session) }
        if let stream { builder = builder.forOriginStream(stream) }
        switch type {
        case .auth: builder = builder.forAuthenticationOnly()
        case .stream: builder = builder.forStreamingOnly()
        case .publish: builder = builder.forPublishingOnly()
        case nil: break
        }
        for tag in applyTag { builder = builder.applyTag(tag) }
        for name in capability { builder = builder.withCapability(name) }
        do {
            return try builder.build()
        } catch {
            throw CommandFailure(.unusableArguments, "\(error).")
        }
    }
}

import ArgumentParser
import PCastCore
import PCastEdgeAuth
import PCastJSON

/// The command `pcast token`.
struct TokenCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create and verify EdgeAuth tokens.",
        subcommands: [TokenCreateCommand.self, TokenVerifyCommand.self])
}

/// The command `pcast token verify`.
struct TokenVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify the signature of an EdgeAuth token, and print its fields.",
        discussion: """
            Prints verified, not-a-digest-token, bad-token, bad-digest or server-error, and the fields of a verified \
            token. The expiry is printed but not checked. The exit status is 0 if the token is verified, otherwise 3.

            Example:
              pcast token verify TOKEN --secret my-secret
            """)

    /// The option for the key.
    struct SigningOptions: ParsableArguments {
        @Option(help: "Secret of the application that signed the token.")
        var secret: String
    }

    @Argument(help: "Token, which begins with DIGEST:.")
    var token: String

    @OptionGroup(title: "Signature") var signing: SigningOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() throws {
        let verification = DigestTokens.verifyAndDecode(secret: signing.secret, encoded: token)
        let console = Console(output)
        let value = verification.value.map(JSONValue.object) ?? .null
        console.event("token", ["code": .string(verification.code.rawValue), "value": value])
        console.result(verification.code.rawValue)
        if let value = verification.value { console.result(value.text) }
        if let token = verification.token {
            console.inform("The token \(Self.expiry(of: token, at: SystemClock.now())).")
        }
        if !verification.isVerified { throw CommandFailure(.notAuthorized) }
    }

    /// Returns the expiration of a token at a time, as the end of a sentence.
    static func expiry(of token: EdgeToken, at now: WallTime) -> String {
        let expiration = token.expires.timestampText
        guard token.expires > now, let remainingTime = token.expires.span(since: now) else {
            return "expired at \(expiration)"
        }
        return "expires at \(expiration), in \(remainingTime.clockText)"
    }
}

/// The command `pcast token create`.
struct TokenCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create an EdgeAuth token and print it.",
        discussion: """
            Anybody who has the token can use it until it expires, so keep it secret. Without --type, it permits \
            authentication and subscribing.

            Examples:
              pcast token create --application app:secret --expires-in 1h \\
                --type stream --stream ID
              pcast token create --application app:secret --expires-in 10m \\
                --type publish --apply-tag channel-1
            """)

    /// The options for the signing application and the lifetime.
    struct SigningOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Application that signs the token, and its secret.", valueName: "id:secret"))
        var application: ApplicationArgument

        @Option(help: ArgumentHelp("Lifetime from now.", valueName: "duration"))
        var expiresIn: DurationArgument?

        @Option(help: ArgumentHelp("Expiry time in milliseconds since 1970 (UTC).", valueName: "ms"))
        var expiresAt: Int64?
    }

    /// The options for what the token permits.
    struct RestrictionOptions: ParsableArguments {
        @Option(help: "Permit only this use. (default: authentication and subscribing)")
        var type: TokenTypeArgument?

        @Option(help: ArgumentHelp("Permit only streams with this tag.", valueName: "tag"))
        var requiredTag: String?

        @Option(help: ArgumentHelp("Permit only this stream.", valueName: "id"))
        var stream: String?

        @Option(help: ArgumentHelp("Permit only this session.", valueName: "id"))
        var session: String?

        @Option(help: ArgumentHelp("Permit only this IP address.", valueName: "address"))
        var remoteAddress: String?
    }

    /// The options for the contents of the token.
    struct ContentOptions: ParsableArguments {
        @Option(help: "Platform to connect to, so that clients need no other address.")
        var uri: String?

        @Option(help: ArgumentHelp("Tag of the stream that is published with the token. Repeatable.", valueName: "tag"))
        var applyTag: [String] = []

        @Option(help: ArgumentHelp("Capability of the stream. Repeatable.", valueName: "capability"))
        var capability: [String] = []
    }

    @OptionGroup(title: "Signature and expiry") var signing: SigningOptions

    @OptionGroup(title: "Restrictions") var restrictions: RestrictionOptions

    @OptionGroup(title: "Platform and stream") var content: ContentOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        guard (signing.expiresIn == nil) != (signing.expiresAt == nil) else {
            throw ValidationError("The token needs one expiry: give either --expires-in or --expires-at.")
        }
        if let expiresAt = signing.expiresAt, expiresAt <= 0 || expiresAt >= 1 << 53 {
            throw ValidationError("--expires-at \(expiresAt): the time must be above 0 and below 2^53 milliseconds.")
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
        var builder = EdgeTokenBuilder().withApplicationId(signing.application.id)
            .withSecret(signing.application.secret)
        if let uri = content.uri { builder = builder.withUri(uri) }
        if let expiresAt = signing.expiresAt { builder = builder.expiresAt(milliseconds: expiresAt) }
        if let expiresIn = signing.expiresIn { builder = builder.expiresIn(expiresIn.span.duration, from: now) }
        if let requiredTag = restrictions.requiredTag { builder = builder.forTag(requiredTag) }
        if let remoteAddress = restrictions.remoteAddress { builder = builder.forRemoteAddress(remoteAddress) }
        if let session = restrictions.session { builder = builder.forSession(session) }
        if let stream = restrictions.stream { builder = builder.forOriginStream(stream) }
        switch restrictions.type {
        case .auth: builder = builder.forAuthenticationOnly()
        case .stream: builder = builder.forStreamingOnly()
        case .publish: builder = builder.forPublishingOnly()
        case nil: break
        }
        for tag in content.applyTag { builder = builder.applyTag(tag) }
        for name in content.capability { builder = builder.withCapability(name) }
        do {
            return try builder.build()
        } catch {
            throw CommandFailure(.unusableArguments, "\(error).")
        }
    }
}

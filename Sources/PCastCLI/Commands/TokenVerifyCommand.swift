import ArgumentParser
import PCastCore
import PCastEdgeAuth
import PCastJSON

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
        if let token = verification.token { console.say("The token \(expiry(of: token)).") }
        if !verification.isVerified { throw CommandFailure(.notAuthorized) }
    }

    private func expiry(of token: EdgeToken) -> String {
        let rest = token.expires - SystemClock.now()
        let moment = token.expires.timestampText
        return rest > .zero ? "expires at \(moment), in \(rest.clockText)" : "expired at \(moment)"
    }
}

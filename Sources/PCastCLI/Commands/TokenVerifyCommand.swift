import ArgumentParser
import PCastCore
import PCastEdgeAuth
import PCastJSON

/// The command `pcast token verify`.
struct TokenVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Tell whether a secret signed a token, and what the token says.",
        discussion: """
            Tells verified, not-a-digest-token, bad-token, bad-digest or server-error, and what a verified token \
            says. Whether it has expired is told, not judged. Exit status 0 when verified, 3 when not.
            """)

    @Argument(help: "The token, DIGEST:…")
    var token: String

    @Option(help: "The secret of the application that signed it.")
    var secret: String

    @OptionGroup var output: OutputOptions

    func run() throws {
        let verification = DigestTokens.verifyAndDecode(secret: secret, encoded: token)
        let console = Console(output)
        let value = verification.value.map(JSONValue.object) ?? .null
        console.event("token", ["code": .string(verification.code.rawValue), "value": value])
        console.result(verification.code.rawValue)
        if let value = verification.value { console.result(value.text) }
        if let token = verification.token { console.say("It \(expiry(of: token)).") }
        if !verification.isVerified { throw CommandFailure(.notAuthorized) }
    }

    private func expiry(of token: EdgeToken) -> String {
        let rest = token.expires - SystemClock.now()
        let moment = token.expires.timestampText
        return rest > .zero ? "expires at \(moment), in \(rest.clockText)" : "expired at \(moment)"
    }
}

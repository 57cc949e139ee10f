import Foundation
import PCastCore
import PCastEdgeAuth

/// The tokens that an application creates for its own publishers and subscribers.
struct ApplicationTokens {
    /// The lifetime of the tokens. It suffices for a day's stream with reconnections, and limits the use of a leaked
    /// link.
    static let lifetime = Duration.seconds(24 * 3_600)

    let application: ApplicationArgument

    /// Returns a token that only authenticates.
    ///
    /// - Throws: `EdgeAuthError`.
    func authentication() throws(EdgeAuthError) -> String {
        try builder.forAuthenticationOnly().build()
    }

    /// Returns a token for publishing one stream.
    ///
    /// - Throws: `EdgeAuthError`.
    func publishing(capabilities: [String] = []) throws(EdgeAuthError) -> String {
        try capabilities.reduce(builder) { $0.withCapability($1) }.forPublishingOnly().build()
    }

    /// Returns a token for subscribing to one stream.
    ///
    /// - Throws: `EdgeAuthError`.
    func viewing(stream: String, capabilities: [String] = []) throws(EdgeAuthError) -> String {
        try capabilities.reduce(builder) { $0.withCapability($1) }.forOriginStream(stream).forStreamingOnly().build()
    }

    /// Returns a token for following timelines and for subscribing.
    ///
    /// - Throws: `EdgeAuthError`.
    func following() throws(EdgeAuthError) -> String { try builder.forStreamingOnly().build() }

    private var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
            .expiresIn(Self.lifetime, from: SystemClock.now())
    }
}

/// The two tokens of a client: one to authenticate, and one for its stream. Often one token is sufficient for both.
struct TokenPair: Equatable {
    let authentication: String
    let stream: String

    init(authentication: String, stream: String) {
        self.authentication = authentication
        self.stream = stream
    }

    /// Assigns one or two tokens by their type. No tokens are necessary for a platform on this host.
    ///
    /// If all tokens are for streams, a client of a local platform authenticates without a token. A client of another
    /// platform authenticates with the token for the stream.
    ///
    /// - Throws: ``CommandFailure`` if there are more than two tokens, or one is invalid.
    init(_ tokens: [String], isLocal: Bool) throws(CommandFailure) {
        guard tokens.count <= 2 else {
            throw CommandFailure(
                .unusableArguments,
                "There are \(tokens.count) tokens: give at most two, one to authenticate and one for the stream.")
        }
        guard tokens.allSatisfy({ $0.hasPrefix("DIGEST:") }) else {
            throw CommandFailure(
                .unusableArguments, "The token does not begin with DIGEST: “pcast token create” creates a valid one.")
        }
        let forStream = tokens.filter { ["stream", "publish"].contains(Self.field("type", of: $0)) }
        let others = tokens.filter { !forStream.contains($0) }
        stream = forStream.first ?? others.first ?? ""
        authentication = others.first ?? (isLocal ? "" : stream)
    }

    /// Returns a field of a token without verification; nil if it is missing. Only the platform can verify a token.
    static func field(_ name: String, of token: String) -> String? {
        guard token.utf8.count < 64 * 1024, let envelope = Data(base64Encoded: String(token.dropFirst(7))),
            let object = try? JSONSerialization.jsonObject(with: envelope) as? [String: Any],
            let body = object["token"] as? String,
            let fields = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        else { return nil }
        return fields[name] as? String
    }
}

/// The text forms do not contain the tokens, so that logs do not reveal them.
extension TokenPair: CustomStringConvertible, CustomReflectable {
    var description: String { "tokens" }

    var customMirror: Mirror { Mirror(self, children: []) }
}

/// A generator of applications with random secrets.
enum RandomApplication {
    /// Returns an application with a secret of 256 random bits.
    static func make(id: String) -> ApplicationArgument {
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return ApplicationArgument(id: id, secret: secret.joined())
    }
}

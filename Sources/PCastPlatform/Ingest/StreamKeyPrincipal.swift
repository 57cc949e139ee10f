import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO

/// The client of a stream key. A key stands for a token of its application with its tags and capabilities, so that all
/// rules of tokens apply to it.
enum StreamKeyPrincipal {
    /// The lifetime of the token, which is checked at once.
    private static let lifetime = Duration.seconds(600)

    /// Returns the token of a key; nil if the application is not active, or the token is too large.
    static func token(
        of application: ApplicationID, tags: [String], capabilities: [String], by authenticator: TokenAuthenticator
    ) -> String? {
        authenticator.token(of: application) { builder in
            let limited = builder.forPublishingOnly().expiresIn(lifetime, from: MonotonicClock.wallTime())
            let tagged = tags.reduce(limited) { $0.applyTag($1) }
            return capabilities.reduce(tagged) { $0.withCapability($1) }
        }
    }

    /// Returns the client of a key.
    ///
    /// - Throws: ``APIError`` with the kind `unauthorized`.
    static func principal(
        of key: StreamKeyRecord, by authenticator: TokenAuthenticator, clientContext: ClientContext
    ) throws(APIError) -> Principal {
        let token = token(of: key.application, tags: key.tags, capabilities: key.capabilities, by: authenticator)
        guard let token else { throw .token("the application of the stream key is not active") }
        var principal = try authenticator.identify(token, clientContext: clientContext)
        principal.fingerprint = fingerprint(of: key.name, key.application)
        principal.limits = key.limits
        return principal
    }

    /// Returns the name by which the publisher of a key is found. It differs from the fingerprint of each token.
    static func fingerprint(of name: String, _ application: ApplicationID) -> String {
        "stream key \(application) \(name)"
    }
}

import PCastCore
import PCastEdgeAuth

/// The tokens that an application creates for its own publishers and subscribers.
struct ApplicationTokens {
    /// The lifetime of the tokens. It suffices for a day's stream with reconnections, and limits the use of a leaked
    /// link.
    static let lifetime = TimeSpan.seconds(24 * 3_600)

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

import PCastEdgeAuth
import PCastMedia

/// The tokens that an application makes for its own publisher and viewers.
struct ApplicationTokens {
    /// Long enough for a day's stream with its reconnections, short enough that a link that leaked dies.
    static let lifetime = TimeSpan.seconds(24 * 3_600)

    let application: ApplicationArgument

    /// Lets a client authenticate, and nothing else.
    func authentication() throws(EdgeAuthError) -> String {
        try builder.forAuthenticationOnly().build()
    }

    /// Lets a client publish one stream.
    func publishing(capabilities: [String] = []) throws(EdgeAuthError) -> String {
        try capabilities.reduce(builder) { $0.withCapability($1) }.forPublishingOnly().build()
    }

    /// Lets view one stream.
    func viewing(stream: String, capabilities: [String] = []) throws(EdgeAuthError) -> String {
        try capabilities.reduce(builder) { $0.withCapability($1) }.forOriginStream(stream).forStreamingOnly().build()
    }

    /// Lets follow timelines, and view.
    func following() throws(EdgeAuthError) -> String { try builder.forStreamingOnly().build() }

    private var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
            .expiresIn(Self.lifetime, from: SystemClock.now())
    }
}

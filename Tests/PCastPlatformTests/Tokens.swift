import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform

/// Tokens of the test's applications.
enum Tokens {
    static func make(
        _ application: PlatformConfiguration.Application = TestPlatform.application, secret: String? = nil,
        lifetime: TimeSpan = .seconds(600), _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder = { $0 }
    ) throws -> String {
        let builder = EdgeTokenBuilder().withApplicationId(application.id.description)
            .withSecret(secret ?? application.secret).expiresIn(lifetime, from: MonotonicClock.wallTime())
        return try restrict(builder).build()
    }

    static func publishing() throws -> String { try make { $0.forPublishingOnly() } }

    static func viewing() throws -> String { try make { $0.forStreamingOnly() } }
}

import ArgumentParser
import PCastPlatform

/// The options of `pcast serve` for limits, proxies, metrics and stopping.
struct OperationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Limit of a number or rate, such as viewers=5000. Repeatable.",
            discussion: "The names and defaults are listed in configs/pcast.conf.", valueName: "name=number"))
    var limit: [LimitArgument] = []

    @Option(
        help: ArgumentHelp(
            "Network of a reverse proxy whose forwarded client addresses are trusted, such as 10.0.0.0/8. Repeatable.",
            valueName: "network"))
    var trustedProxy: [NetworkArgument] = []

    @Option(
        help: ArgumentHelp(
            "Header with the client address: x-forwarded-for or forwarded. (default: x-forwarded-for)",
            valueName: "name"))
    var forwardedHeader: ProxyFieldArgument?

    @Option(
        help: ArgumentHelp(
            "Token for /metrics from other hosts, as bearer token or Basic password. (default: this host only)",
            valueName: "token"))
    var metricsToken: String?

    @Option(
        help: ArgumentHelp(
            "Origin that may embed the watch page, such as https://www.example.com. Repeatable. (default: any)",
            valueName: "source"))
    var frameAncestor: [String] = []

    @Option(
        help: ArgumentHelp(
            "Maximum time to notify clients and webhooks when stopping. (default: 10s)", valueName: "duration"))
    var drainTime: DurationArgument?

    func complete(_ configuration: inout PlatformConfiguration, _ settings: Settings) throws {
        for limit in try settings.values("limit", limit) { try limit.set(in: &configuration.limits) }
        configuration.trustedProxies = try settings.values("trusted-proxy", trustedProxy).map(\.network)
        configuration.forwardedHeader = try settings.value("forwarded-header", forwardedHeader)?.field ?? .forwardedFor
        configuration.metricsToken = try settings.value("metrics-token", metricsToken)
        configuration.frameAncestors = try settings.values("frame-ancestor", frameAncestor)
        for source in configuration.frameAncestors where !Self.isSource(source) {
            throw CommandFailure(
                .unusableArguments,
                "--frame-ancestor “\(source)” is invalid: give 'none', 'self' or an origin such as https://www.example.com."
            )
        }
        configuration.drainTime =
            try settings.value("drain-time", drainTime)?.span ?? PlatformConfiguration.defaultDrainTime
    }

    /// Returns whether text is a valid source of a Content Security Policy: one word that does not end the directive.
    private static func isSource(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3B && $0 != 0x2C }
    }
}

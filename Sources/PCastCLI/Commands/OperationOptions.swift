import ArgumentParser
import Logging
import PCastPlatform

/// The options of `pcast serve` for operation: limits, proxies, metrics, logging and stopping.
struct OperationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How much there may be at one time, or in a second, as viewers=5000; may be repeated.",
            discussion: "The names, and what holds by itself, stand in configs/pcast.conf.", valueName: "name=number"))
    var limit: [LimitArgument] = []

    @Option(
        help: ArgumentHelp(
            "A proxy that is believed when it says for whom it asks, as 10.0.0.0/8; may be repeated.",
            valueName: "network"))
    var trustedProxy: [NetworkArgument] = []

    @Option(
        help: ArgumentHelp(
            "The field in which it says so: x-forwarded-for or forwarded. (default: x-forwarded-for)",
            valueName: "name"))
    var forwardedHeader: ProxyFieldArgument?

    @Option(
        help: ArgumentHelp(
            "What /metrics wants from other machines, as bearer token or password of Basic. (default: this machine alone)",
            valueName: "token"))
    var metricsToken: String?

    @Option(
        help: ArgumentHelp(
            "A source that may frame the watch page, as https://www.example.com; may be repeated. (default: any)",
            valueName: "source"))
    var frameAncestor: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long ending may take: everyone is told, and the last notifications are sent. (default: 10s)",
            valueName: "duration"))
    var drainTime: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "What is logged: trace, debug, info, notice, warning, error or critical. (default: warning)",
            valueName: "level"))
    var logLevel: LogLevelArgument?

    func complete(_ configuration: inout PlatformConfiguration, _ settings: Settings) throws {
        for limit in try settings.values("limit", limit) { try limit.set(in: &configuration.limits) }
        configuration.trustedProxies = try settings.values("trusted-proxy", trustedProxy).map(\.network)
        configuration.forwardedHeader = try settings.value("forwarded-header", forwardedHeader)?.field ?? .forwardedFor
        configuration.metricsToken = try settings.value("metrics-token", metricsToken)
        configuration.frameAncestors = try settings.values("frame-ancestor", frameAncestor)
        for source in configuration.frameAncestors where !Self.isSource(source) {
            throw CommandFailure(
                .unusableArguments,
                "--frame-ancestor “\(source)” is no source: give 'none', 'self' or an origin such as https://www.example.com."
            )
        }
        configuration.drainTime =
            try settings.value("drain-time", drainTime)?.span ?? PlatformConfiguration.defaultDrainTime
    }

    /// Returns whether text is a valid source of a Content Security Policy: one word that does not end the directive.
    private static func isSource(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3B && $0 != 0x2C }
    }

    /// Returns the log level; nil if only `PCAST_LOG_LEVEL` may set it, as for all commands.
    func level(_ settings: Settings) throws -> Logger.Level? { try settings.value("log-level", logLevel)?.level }
}

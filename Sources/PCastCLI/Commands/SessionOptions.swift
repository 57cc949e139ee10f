import ArgumentParser
import PCastCore
import PCastPlatform

/// The options of `pcast serve` for reconnecting clients.
struct SessionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A session whose client has no connection ends after that, and its streams. (default: 180s)",
            valueName: "duration"))
    var sessionTimeout: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "For so long after a crash streams may be gone on with; then they end as failed. (default: 15s)",
            valueName: "duration"))
    var reconnectGrace: DurationArgument?

    func apply(_ settings: Settings, to configuration: inout PlatformConfiguration) throws {
        if let absence = try settings.value("session-timeout", sessionTimeout) {
            configuration.sessionTimeout = absence.span
        }
        if let time = try settings.value("reconnect-grace", reconnectGrace) { configuration.reconnectGrace = time.span }
    }
}

import ArgumentParser
import PCastCore
import PCastPlatform

/// The options of `pcast serve` for reconnecting clients.
struct SessionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Time after which a disconnected session ends with its streams. (default: 180s)",
            valueName: "duration"))
    var sessionTimeout: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Time in which publishers can resume streams after the platform crashed. (default: 15s)",
            valueName: "duration"))
    var reconnectGrace: DurationArgument?

    func apply(_ settings: Settings, to configuration: inout PlatformConfiguration) throws {
        if let absence = try settings.value("session-timeout", sessionTimeout) {
            configuration.sessionTimeout = absence.span
        }
        if let time = try settings.value("reconnect-grace", reconnectGrace) { configuration.reconnectGrace = time.span }
    }
}

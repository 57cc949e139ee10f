public import Logging
public import PCastCore

/// How a ``PCast`` is set up (seed 004; Phenix: `PhenixPCastInitializeOptions`).
public struct PCastOptions: Sendable {
    /// The platform, `http(s)://HOST[:PORT]`; nil takes the address that the authentication token names.
    public var uri: String?

    /// Tells this device from others in the platform's records; random unless set.
    public var deviceID: String

    /// A session of an earlier run of the program to go on with, where the platform still knows it; else another is opened.
    public var sessionID: SessionID?

    /// Whether the SDK handles the signals that ask the process to end (SIGINT and SIGTERM): it then shuts down, so that
    /// platform and viewers know that its streams have ended (`pcast-stop`), and lets the process go on to end, as the
    /// signal would have had it without the SDK. A second signal is not held up. Without this, the SDK installs no handler.
    public var processTerminationSignalHandling: Bool

    /// Redirects requests for playlists to an own delivery network; of effect for streams with the `streaming`
    /// capability only (seed 004, "Stream Source Mapping").
    public var streamingSourceMapping: StreamingSourceMapping?

    /// What the SDK logs, and where to; nothing, unless configured.
    public var logging: LoggingConfiguration

    public init(
        uri: String? = nil, deviceID: String? = nil, processTerminationSignalHandling: Bool = false,
        streamingSourceMapping: StreamingSourceMapping? = nil, logging: LoggingConfiguration = .off
    ) {
        self.uri = uri
        self.deviceID = deviceID ?? RandomText.identifier()
        self.processTerminationSignalHandling = processTerminationSignalHandling
        self.streamingSourceMapping = streamingSourceMapping
        self.logging = logging
    }

    /// Turns logging on or off (seed 004, `configureLogging`).
    ///
    /// - Parameter handler: as for ``LoggingConfiguration``.
    public mutating func configureLogging(
        _ isEnabled: Bool, level: Logger.Level = .info, handler: (@Sendable (_ label: String) -> any LogHandler)? = nil
    ) {
        logging = LoggingConfiguration(isEnabled: isEnabled, level: level, handler: handler)
    }

    /// Turns logging on, into a logger of the program's own and from its level on.
    public mutating func configureLogging(_ logger: Logger) {
        logging = LoggingConfiguration(level: logger.logLevel) { _ in logger.handler }
    }
}

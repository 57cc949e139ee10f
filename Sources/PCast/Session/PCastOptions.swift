public import Logging
public import PCastMedia

/// How a ``PCast`` is set up (Phenix: `PhenixPCastInitializeOptions`).
public struct PCastOptions: Sendable {
    /// The platform, `http(s)://HOST[:PORT]`; nil takes the address that the authentication token names.
    public var uri: String?

    /// Tells this device from others in the platform's records; random unless set.
    public var deviceID: String

    /// A session of an earlier run of the program to go on with, where the platform still knows it; else another is opened.
    public var sessionID: SessionID?

    /// Whether the SDK ends its streams by itself on SIGINT and SIGTERM. It installs no handler of its own: a program
    /// that sets this calls ``PCast/shutdown()`` from its own handler, and false says that it does not.
    public var processTerminationSignalHandling: Bool

    /// Redirects requests for playlists to an own delivery network; of effect for streams with the `streaming`
    /// capability only (seed 004, "Stream Source Mapping").
    public var streamingSourceMapping: StreamingSourceMapping?

    /// Where the SDK writes its log; it never holds tokens or keys. Silent unless ``configureLogging(_:)`` is called.
    public private(set) var logger: Logger

    public init(
        uri: String? = nil, deviceID: String? = nil, processTerminationSignalHandling: Bool = false,
        streamingSourceMapping: StreamingSourceMapping? = nil
    ) {
        self.uri = uri
        self.deviceID = deviceID ?? RandomText.identifier()
        self.processTerminationSignalHandling = processTerminationSignalHandling
        self.streamingSourceMapping = streamingSourceMapping
        logger = Logger(label: "pcast", factory: { _ in SwiftLogNoOpLogHandler() })
    }

    /// Turns logging on (seed 004, `configureLogging`), into a logger of the program's own.
    public mutating func configureLogging(_ logger: Logger) { self.logger = logger }
}

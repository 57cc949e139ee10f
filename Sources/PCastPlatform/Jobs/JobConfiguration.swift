public import PCastCore

/// The configuration of ingest and egress jobs: the program that opens external media in its own process, and the
/// addresses that it may use.
public struct JobConfiguration: Sendable {
    /// The path of the program.
    public var program: String
    /// The arguments of the program, `worker` for `pcast`.
    public var arguments: [String]
    /// The networks that are permitted although they are not public.
    public var networks: [IPNetwork]
    /// The ports on which jobs may listen for encoders (`srt://0.0.0.0:PORT?mode=listener`); nil for none.
    public var listenerPorts: ClosedRange<UInt16>?
    /// The folder in which files may be read and written; nil for none.
    public var folder: String?
    /// The maximum number of jobs.
    public var limit: Int

    /// The default of `limit`.
    public static let defaultLimit = 16

    /// Creates a configuration.
    public init(
        program: String, arguments: [String], networks: [IPNetwork] = [], listenerPorts: ClosedRange<UInt16>? = nil,
        folder: String? = nil, limit: Int = defaultLimit
    ) {
        self.program = program
        self.arguments = arguments
        self.networks = networks
        self.listenerPorts = listenerPorts
        self.folder = folder
        self.limit = limit
    }
}

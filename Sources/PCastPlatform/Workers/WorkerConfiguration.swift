public import PCastMedia

/// What a platform needs in order to pull streams from addresses, and to push streams to some: a program that opens
/// foreign media in a process of its own, and what that may reach.
public struct WorkerConfiguration: Sendable {
    /// The program's path, and its arguments: `pcast worker`.
    public var program: String
    public var arguments: [String]
    /// Networks that may be reached although they are not public.
    public var networks: [IPNetwork]
    /// Where encoders may be listened for (`srt://0.0.0.0:PORT?mode=listener`); nil for nowhere.
    public var listenerPorts: ClosedRange<UInt16>?
    /// The folder in which files may be read and written; nil for none.
    public var folder: String?
    /// Workers at one time.
    public var limit: Int

    public static let usualLimit = 16

    public init(
        program: String, arguments: [String], networks: [IPNetwork] = [], listenerPorts: ClosedRange<UInt16>? = nil,
        folder: String? = nil, limit: Int = usualLimit
    ) {
        self.program = program
        self.arguments = arguments
        self.networks = networks
        self.listenerPorts = listenerPorts
        self.folder = folder
        self.limit = limit
    }
}

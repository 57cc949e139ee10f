import PCast

/// The options of a client (Phenix: `PhenixPCastInitializeOptions`).
public final class PhenixPCastInitializeOptions {
    /// Whether the client ends its streams on SIGINT and SIGTERM.
    public var enableProcessTerminationSignalHandling = false
    /// Whether the client logs.
    public var configureLogging = false
    /// The redirection of playlist requests; nil for none.
    public var streamingSourceMapping: PhenixStreamingSourceMapping?

    /// Creates the default options.
    public init() {}

    /// Returns the options of ``PCast``. Throws an error if they are invalid.
    func options(uri: String?) throws(PCastError) -> PCastOptions {
        var options = PCastOptions(
            uri: uri, processTerminationSignalHandling: enableProcessTerminationSignalHandling,
            streamingSourceMapping: try streamingSourceMapping?.mapping())
        if configureLogging { options.configureLogging(true) }
        return options
    }
}

/// A redirection of playlist requests (Phenix: `PhenixStreamingSourceMapping`).
public final class PhenixStreamingSourceMapping {
    /// The regular expression whose first match in an address is replaced.
    public var patternToReplace = ""
    /// The literal text that replaces the match.
    public var replacement = ""

    /// Creates an empty redirection.
    public init() {}

    /// Returns the redirection of ``PCast``. Throws an error if it is invalid.
    func mapping() throws(PCastError) -> StreamingSourceMapping {
        try StreamingSourceMapping(patternToReplace: patternToReplace, replacement: replacement)
    }
}

import PCast

/// How a client is set up (seed 004: `PhenixPCastInitializeOptions`).
public final class PhenixPCastInitializeOptions {
    /// Whether the client ends its streams when the process is asked to end.
    public var enableProcessTerminationSignalHandling = false
    /// Whether the client logs.
    public var configureLogging = false
    /// Redirects requests for playlists.
    public var streamingSourceMapping: PhenixStreamingSourceMapping?

    public init() {}

    func options(uri: String?) throws(PCastError) -> PCastOptions {
        var options = PCastOptions(
            uri: uri, processTerminationSignalHandling: enableProcessTerminationSignalHandling,
            streamingSourceMapping: try streamingSourceMapping?.mapping())
        if configureLogging { options.configureLogging(true) }
        return options
    }
}

/// What is replaced in addresses of playlists, and by what (seed 004, "Stream Source Mapping").
public final class PhenixStreamingSourceMapping {
    /// A regular expression.
    public var patternToReplace = ""
    public var replacement = ""

    public init() {}

    func mapping() throws(PCastError) -> StreamingSourceMapping {
        try StreamingSourceMapping(patternToReplace: patternToReplace, replacement: replacement)
    }
}

public import PCastCore

/// Options for an address that the platform pulls for ``PCast/publishFromUri(streamToken:uri:tags:connectOptions:)``.
public struct ConnectOptions: Hashable, Sendable {
    /// The maximum frame rate in frames per second; nil for no limit.
    public var maximumFrameRate: Double?
    /// The duration that is skipped at the beginning; at most one minute.
    public var prerollSkip: TimeSpan
    /// Whether the stream continues after the end of this program's session. It ends with its source, or when it is
    /// terminated by its ID.
    public var isDetached: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - maximumFrameRate: The maximum frame rate in frames per second; nil for no limit.
    ///   - prerollSkip: The duration that is skipped at the beginning; at most one minute.
    ///   - isDetached: Whether the stream continues after the end of this program's session.
    public init(maximumFrameRate: Double? = nil, prerollSkip: TimeSpan = .zero, isDetached: Bool = false) {
        self.maximumFrameRate = maximumFrameRate
        self.prerollSkip = prerollSkip
        self.isDetached = isDetached
    }

    /// The options in the form of `CreateStream.connectOptions`.
    var wire: [String] {
        var options: [String] = []
        if let maximumFrameRate { options.append("source-uri-video-fps-max=\(maximumFrameRate)") }
        if prerollSkip > .zero {
            options.append("source-uri-preroll-skip-duration=\(prerollSkip.nanoseconds / 1_000_000)")
        }
        return options
    }
}

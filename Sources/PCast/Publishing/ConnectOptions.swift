public import PCastCore

/// How the platform treats an address that it pulls for ``PCast/publishFromUri(streamToken:uri:tags:connectOptions:)``.
public struct ConnectOptions: Hashable, Sendable {
    /// Pictures a second at most; nil leaves them as they come.
    public var maximumFrameRate: Double?
    /// How much of the beginning is left out; up to a minute.
    public var prerollSkip: TimeSpan
    /// Whether the stream goes on when this program's session ends. It ends with its source, or is ended by name.
    public var isDetached: Bool

    public init(maximumFrameRate: Double? = nil, prerollSkip: TimeSpan = .zero, isDetached: Bool = false) {
        self.maximumFrameRate = maximumFrameRate
        self.prerollSkip = prerollSkip
        self.isDetached = isDetached
    }

    /// As `CreateStream.connectOptions`.
    var wire: [String] {
        var options: [String] = []
        if let maximumFrameRate { options.append("source-uri-video-fps-max=\(maximumFrameRate)") }
        if prerollSkip > .zero {
            options.append("source-uri-preroll-skip-duration=\(prerollSkip.nanoseconds / 1_000_000)")
        }
        return options
    }
}

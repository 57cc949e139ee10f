public import PCastCore

/// The options of a terminal surface.
public struct TerminalOptions: Sendable {
    /// The method of drawing.
    public enum Drawing: String, CaseIterable, Sendable {
        /// Kitty's graphics protocol if the terminal supports it, otherwise half blocks.
        case automatic
        case halfBlocks
        case kitty
    }

    /// The path of the terminal. The default is that of the process.
    public var path: String

    /// The method of drawing.
    public var drawing: Drawing
    /// The arrangement of frames.
    public var arrangement: FrameArrangement

    /// The most bytes per second to write. Frames beyond that are dropped.
    public var bytesPerSecond: Int

    /// The timeout of the query for the terminal's capabilities.
    public var timeout: TimeSpan

    /// Creates options.
    public init(
        path: String = "/dev/tty", drawing: Drawing = .automatic,
        arrangement: FrameArrangement = FrameArrangement(),
        bytesPerSecond: Int = 8_000_000, timeout: TimeSpan = .seconds(1)
    ) {
        self.path = path
        self.drawing = drawing
        self.arrangement = arrangement
        self.bytesPerSecond = bytesPerSecond
        self.timeout = timeout
    }
}

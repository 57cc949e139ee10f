public import PCastMedia

/// How a terminal is drawn on.
public struct TerminalOptions: Sendable {
    /// How pictures are made of what a terminal can.
    public enum Drawing: String, CaseIterable, Sendable {
        /// Kitty's graphics where the terminal says that it has them, else half blocks.
        case automatic
        case halfBlocks
        case kitty
    }

    /// The terminal; the process's own unless said otherwise.
    public var path: String

    public var drawing: Drawing
    public var arrangement: PictureArrangement

    /// What it is written at most, a second. Pictures for which there is no room are left out.
    public var bytesPerSecond: Int

    /// How long its answer to what it can is waited for.
    public var patience: TimeSpan

    public init(
        path: String = "/dev/tty", drawing: Drawing = .automatic,
        arrangement: PictureArrangement = PictureArrangement(),
        bytesPerSecond: Int = 8_000_000, patience: TimeSpan = .seconds(1)
    ) {
        self.path = path
        self.drawing = drawing
        self.arrangement = arrangement
        self.bytesPerSecond = bytesPerSecond
        self.patience = patience
    }
}

import PCastCore

/// Converts frames to the bytes to write to a terminal. It remembers what the terminal shows, so that only changes are
/// written. It does no I/O.
protocol TerminalCanvas {
    /// Returns the bytes that show a frame. It assumes that all previous bytes were written.
    mutating func draw(_ frame: VideoFrame, _ arrangement: FrameArrangement) -> [UInt8]

    /// Returns the bytes that clear the screen. Everything is redrawn afterwards.
    mutating func reset(_ grid: TerminalGrid) -> [UInt8]
}

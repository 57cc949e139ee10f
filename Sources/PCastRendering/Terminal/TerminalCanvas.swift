import PCastMedia

/// Turns pictures into what a terminal is written, and remembers what it shows, so that only what has changed is written.
/// Pure: bytes out, nothing else.
protocol TerminalCanvas {
    /// What shows a picture. What was answered before is taken as written.
    mutating func draw(_ frame: VideoFrame, _ arrangement: PictureArrangement) -> [UInt8]

    /// What clears the screen; everything is drawn anew after it.
    mutating func reset(_ grid: TerminalGrid) -> [UInt8]
}

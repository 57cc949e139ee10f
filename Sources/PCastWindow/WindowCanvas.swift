import CSDL
import PCastMedia
import PCastRendering

/// What a window's pictures are drawn with. Used by the thread of windows alone.
protocol WindowCanvas {
    /// Whether drawing waits for the display's next tick.
    var isSynchronized: Bool { get }

    /// Draws a picture, or black without one. Answers false when the window's surface is lost and must be made anew.
    mutating func draw(_ frame: VideoFrame?, _ arrangement: PictureArrangement) -> Bool

    /// In pixels.
    var dimensions: Dimensions { get }

    func close()
}

import CSDL
import PCastCore
import PCastRendering

/// The drawing method of a window. Only the window thread uses it.
protocol WindowCanvas {
    /// Whether drawing waits for the display's next refresh.
    var isSynchronized: Bool { get }

    /// Draws a frame, or black without one. Returns false if the window's surface is lost and must be created again.
    mutating func draw(_ frame: VideoFrame?, _ arrangement: FrameArrangement) -> Bool

    /// The size in pixels.
    var dimensions: Dimensions { get }

    func close()
}

public import PCastCore
public import PCastRendering

/// The options of a window.
public struct WindowOptions: Sendable {
    /// The method of drawing.
    public enum Drawing: String, CaseIterable, Sendable {
        /// The GPU if there is one, otherwise the CPU.
        case automatic
        /// OpenGL, even if it is emulated, with vertical synchronization if available.
        case accelerated
        /// libyuv, directly to memory that is shared with the X server. It takes a tenth of the CPU time of emulated
        /// OpenGL.
        case software
    }

    /// The title of the window.
    public var title: String

    /// The size in pixels; nil for the size of the first frame, limited by the display.
    public var dimensions: Dimensions?

    /// Whether the window is full screen.
    public var isFullscreen: Bool
    /// The arrangement of frames.
    public var arrangement: FrameArrangement
    /// The method of drawing.
    public var drawing: Drawing

    /// Creates options.
    public init(
        title: String = "PCast", dimensions: Dimensions? = nil, isFullscreen: Bool = false,
        arrangement: FrameArrangement = FrameArrangement(), drawing: Drawing = .automatic
    ) {
        self.title = title
        self.dimensions = dimensions
        self.isFullscreen = isFullscreen
        self.arrangement = arrangement
        self.drawing = drawing
    }
}

public import PCastMedia
public import PCastRendering

/// How a window is opened.
public struct WindowOptions: Sendable {
    /// Who draws.
    public enum Drawing: String, CaseIterable, Sendable {
        /// The graphics processor where there is one, else the processor.
        case automatic
        /// OpenGL, also one that is emulated; vertical synchronisation where the display has it.
        case accelerated
        /// libyuv, straight into memory that is shared with the X server: a tenth of what an emulated OpenGL takes.
        case software
    }

    public var title: String

    /// In pixels of the display; nil for the size of the first picture, as far as the display has room for it.
    public var dimensions: Dimensions?

    public var isFullscreen: Bool
    public var arrangement: PictureArrangement
    public var drawing: Drawing

    public init(
        title: String = "PCast", dimensions: Dimensions? = nil, isFullscreen: Bool = false,
        arrangement: PictureArrangement = PictureArrangement(), drawing: Drawing = .automatic
    ) {
        self.title = title
        self.dimensions = dimensions
        self.isFullscreen = isFullscreen
        self.arrangement = arrangement
        self.drawing = drawing
    }
}

/// A rectangle of a frame or a window, in pixels from its upper left corner.
public struct FrameRectangle: Hashable, Sendable {
    /// The left edge.
    public var x: Int
    /// The upper edge.
    public var y: Int
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a rectangle.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Creates a rectangle that covers a whole frame or window.
    public init(_ dimensions: Dimensions) {
        self.init(x: 0, y: 0, width: dimensions.width, height: dimensions.height)
    }

    /// The size of the rectangle.
    public var dimensions: Dimensions { Dimensions(width: width, height: height) }

    /// Whether the rectangle contains no pixel.
    public var isEmpty: Bool { width <= 0 || height <= 0 }
}

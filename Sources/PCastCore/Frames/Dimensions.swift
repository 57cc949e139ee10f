/// The size of a frame in pixels.
public struct Dimensions: Hashable, Sendable, CustomStringConvertible {
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size as text, such as `1280x720`.
    public var description: String { "\(width)x\(height)" }
}

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

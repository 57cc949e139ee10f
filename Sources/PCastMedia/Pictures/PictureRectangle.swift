/// A part of a picture or of what it is drawn on, in pixels from the upper left corner.
public struct PictureRectangle: Hashable, Sendable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The whole of something.
    public init(_ dimensions: Dimensions) {
        self.init(x: 0, y: 0, width: dimensions.width, height: dimensions.height)
    }

    public var dimensions: Dimensions { Dimensions(width: width, height: height) }

    public var isEmpty: Bool { width <= 0 || height <= 0 }
}

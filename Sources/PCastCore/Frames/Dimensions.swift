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

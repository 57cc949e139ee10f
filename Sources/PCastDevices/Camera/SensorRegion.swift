import CV4L2
import PCastCore

/// A rectangle in sensor pixels.
struct SensorRegion: Hashable, Sendable {
    var left: Int
    var top: Int
    var width: Int
    var height: Int

    /// Returns nil for an implausible rectangle.
    init?(_ rectangle: v4l2_rect) {
        guard (1...65_536).contains(rectangle.width), (1...65_536).contains(rectangle.height),
            (-65_536...65_536).contains(rectangle.left), (-65_536...65_536).contains(rectangle.top)
        else { return nil }
        left = Int(rectangle.left)
        top = Int(rectangle.top)
        width = Int(rectangle.width)
        height = Int(rectangle.height)
    }

    init(left: Int = 0, top: Int = 0, width: Int, height: Int) {
        self.left = left
        self.top = top
        self.width = width
        self.height = height
    }

    var rectangle: v4l2_rect {
        v4l2_rect(left: Int32(left), top: Int32(top), width: UInt32(width), height: UInt32(height))
    }

    /// Returns the rectangle around a target, a quarter of this region in width and height and within its edges.
    func around(_ target: FocusTarget) -> SensorRegion {
        let (part, rest) = (max(width / 4, 1), max(height / 4, 1))
        let column = Int(target.x * Double(width)) - part / 2
        let row = Int(target.y * Double(height)) - rest / 2
        return SensorRegion(
            left: left + min(max(column, 0), width - part), top: top + min(max(row, 0), height - rest), width: part,
            height: rest)
    }
}

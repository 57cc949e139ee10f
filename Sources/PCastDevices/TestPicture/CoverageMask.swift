import Glibc

/// How much of each pixel of a small rectangle a shape covers, from 0 to 255: a shape drawn once, then stamped into
/// every picture.
struct CoverageMask {
    let width: Int
    let height: Int
    let values: [UInt8]

    /// - Parameter distance: from a point to the shape's edge in pixels, negative inside.
    init(width: Int, height: Int, distance: (_ x: Double, _ y: Double) -> Double) {
        self.width = max(1, width)
        self.height = max(1, height)
        var values: [UInt8] = []
        values.reserveCapacity(self.width * self.height)
        for row in 0..<self.height {
            for column in 0..<self.width {
                let edge = distance(Double(column) + 0.5, Double(row) + 0.5)
                values.append(UInt8((min(max(0.5 - edge, 0), 1) * 255).rounded()))
            }
        }
        self.values = values
    }

    /// A filled disc that touches all four sides.
    static func disc(diameter: Int) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            hypot(x - radius, y - radius) - radius
        }
    }

    /// A circle that touches all four sides, drawn `thickness` pixels thick.
    static func ring(diameter: Int, thickness: Double) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            abs(hypot(x - radius, y - radius) - radius + thickness / 2) - thickness / 2
        }
    }
}

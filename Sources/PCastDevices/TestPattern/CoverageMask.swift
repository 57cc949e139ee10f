import Glibc

/// The coverage of each pixel by a shape, from 0 to 255. A shape is computed once and drawn to every frame.
struct CoverageMask {
    let width: Int
    let height: Int
    let values: [UInt8]

    /// Creates a mask. `distance` returns the distance from a point to the edge of the shape in pixels, negative
    /// inside.
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

    /// Returns a filled circle that touches all four sides.
    static func disc(diameter: Int) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            hypot(x - radius, y - radius) - radius
        }
    }

    /// Returns a circle of this line thickness, in pixels, that touches all four sides.
    static func ring(diameter: Int, thickness: Double) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            abs(hypot(x - radius, y - radius) - radius + thickness / 2) - thickness / 2
        }
    }
}

import PCastCore

extension CaptureFormat.Sizes {
    /// Returns the sizes that can be optimal. A fitness distance has its minima at the bounds of a range and at the
    /// named values, because it is concave between them. `widths` and `heights` are the named values in the sensor's
    /// orientation. `aspect` is the ratio of width to height if the side that is not named follows the other one.
    func considered(widths: [Double], heights: [Double], aspect: Double?) -> [Dimensions] {
        switch self {
        case .discrete(let size):
            return size.width > 0 && size.height > 0 ? [size] : []
        case .stepwise(let smallest, let largest, let step):
            let across = SizeRange(smallest.width, largest.width, step: step.width)
            let down = SizeRange(smallest.height, largest.height, step: step.height)
            guard let across, let down else { return [] }
            var (columns, rows) = (across.considered(widths), down.considered(heights))
            if let aspect {
                let (before, beside) = (columns, rows)
                rows.formUnion(before.flatMap { down.nearest(Double($0) / aspect) })
                columns.formUnion(beside.flatMap { across.nearest(Double($0) * aspect) })
            }
            let sorted = rows.sorted()
            return columns.sorted().flatMap { width in sorted.map { Dimensions(width: width, height: $0) } }
        }
    }
}

/// A range of widths or heights with a step.
private struct SizeRange {
    /// The limit of a side. It exceeds all sensors, and sums of two values do not overflow.
    private static let largest = 1 << 24

    let smallest: Int
    let steps: Int
    let step: Int

    /// Returns nil for an invalid range.
    init?(_ smallest: Int, _ largest: Int, step: Int) {
        guard smallest > 0, largest >= smallest, smallest <= Self.largest else { return nil }
        self.smallest = smallest
        self.step = step > 0 ? min(step, Self.largest) : 1
        steps = (min(largest, Self.largest) - smallest) / self.step
    }

    private subscript(index: Int) -> Int { smallest + index * step }

    func considered(_ named: [Double]) -> Set<Int> {
        Set([self[0], self[steps]] + named.flatMap(nearest))
    }

    /// Returns the two values of the range that are nearest to a number.
    func nearest(_ number: Double) -> [Int] {
        let index = (number - Double(smallest)) / Double(step)
        guard index > 0 else { return [self[0]] }
        guard index < Double(steps) else { return [self[steps]] }
        let below = Int(index)
        return [self[below], self[min(below + 1, steps)]]
    }
}

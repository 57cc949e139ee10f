extension CaptureFormat.Rates {
    /// Returns the rates that can be optimal: those of a list, or the bounds of a range and the named values within it.
    func considered(named: [Double]) -> [FrameRate] {
        switch self {
        case .discrete(let rates):
            return rates
        case .range(let one, let other, _):
            let (slowest, fastest) = one.perSecond <= other.perSecond ? (one, other) : (other, one)
            let between = named.filter { $0 > slowest.perSecond && $0 < fastest.perSecond }
            return [slowest, fastest] + between.map { FrameRate(near: $0) }
        }
    }
}

extension FrameRate {
    /// Creates the fraction that a decimal number stands for: 29.97 is 30000/1001.
    init(near perSecond: Double) {
        let whole = perSecond.rounded()
        if perSecond == whole || whole >= 1e6 {
            self.init(Int(min(max(whole, 1), 1e6)))
        } else if abs(perSecond - whole * 1_000 / 1_001) < 0.005, whole > 1 {
            self.init(Int(whole) * 1_000, 1_001)
        } else {
            self.init(max(Int((perSecond * 1_000).rounded()), 1), 1_000)
        }
    }
}

import CV4L2

extension FrameRate {
    init?(interval: v4l2_fract) { self.init(interval: interval.numerator, interval.denominator) }

    /// Creates a rate from a frame interval in seconds. Returns nil for an invalid or implausible interval.
    init?(interval numerator: UInt32, _ denominator: UInt32) {
        let (seconds, parts) = (Int(numerator), Int(denominator))
        // The range is 31 bits, so that products of two do not overflow.
        guard (1...Int(Int32.max)).contains(seconds), (1...Int(Int32.max)).contains(parts),
            parts <= seconds * 1_000, seconds <= parts * 3_600
        else { return nil }
        let divisor = Self.greatestCommonDivisor(parts, seconds)
        self.init(parts / divisor, seconds / divisor)
    }

    private static func greatestCommonDivisor(_ first: Int, _ second: Int) -> Int {
        second == 0 ? first : greatestCommonDivisor(second, first % second)
    }
}

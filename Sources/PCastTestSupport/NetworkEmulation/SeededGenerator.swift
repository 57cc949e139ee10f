/// The random number generator SplitMix64 (Steele, Lea, Flood 2014). It is deterministic and must not be used for
/// secrets.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator. The same seed produces the same numbers.
    package init(seed: UInt64) { state = seed }

    /// Returns the next 64-bit number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Returns true with the probability `share`. It consumes a random number only if `share` is between 0 and 1.
    package mutating func happens(_ share: Double) -> Bool {
        share > 0 && (share >= 1 || Double.random(in: 0..<1, using: &self) < share)
    }

    /// Returns a number from 0 to below a bound, which must be far less than 2^64 for an even distribution.
    package mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

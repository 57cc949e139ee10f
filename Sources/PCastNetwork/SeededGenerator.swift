/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers from the same seed. Not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Whether something comes true whose probability is `share`. Takes a number only where there is a doubt.
    public mutating func chance(_ share: Double) -> Bool {
        share > 0 && (share >= 1 || Double.random(in: 0..<1, using: &self) < share)
    }

    /// A number from 0 up to a bound, which is far less than 2^64.
    public mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

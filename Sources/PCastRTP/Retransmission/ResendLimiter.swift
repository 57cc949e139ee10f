public import PCastMedia

/// When packets left again for one viewer, so that none is sent twice within a round trip (NACK2).
///
/// It remembers one packet for each value of the number's low eight bits, the one that left last; a packet forgotten
/// may be sent again. Most viewers lack nothing all their life, and it takes no memory before the first that does.
public struct ResendLimiter: Sendable {
    private struct Sending {
        /// Low bits of the number.
        var sequence: UInt32
        /// Milliseconds, low bits.
        var time: UInt32
    }

    public static let minimumInterval = TimeSpan.milliseconds(20)

    private static let capacity = 256

    private var sendings: [Sending] = []

    public init() {}

    /// Notes that a packet leaves.
    public mutating func sent(_ sequence: Int64, at now: Instant) {
        if sendings.isEmpty {
            // No packet is remembered where the low bits of the number are not those of the place.
            sendings = (0..<Self.capacity).map { Sending(sequence: ~UInt32($0), time: 0) }
        }
        sendings[Self.index(sequence)] = Sending(
            sequence: UInt32(truncatingIfNeeded: sequence), time: Self.milliseconds(now))
    }

    /// Whether a packet may be sent again now: it has not left within the round trip, or the last 20 ms.
    public func mayResend(_ sequence: Int64, roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard !sendings.isEmpty else { return true }
        let sending = sendings[Self.index(sequence)]
        guard sending.sequence == UInt32(truncatingIfNeeded: sequence) else { return true }
        let elapsed = Int64(Self.milliseconds(now) &- sending.time)
        return TimeSpan.milliseconds(elapsed) >= max(roundTrip, Self.minimumInterval)
    }

    private static func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }

    private static func milliseconds(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 1_000_000)
    }
}

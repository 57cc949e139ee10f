public import PCastMedia

/// When packets left again for one viewer, so that none is sent twice within a round trip (NACK2); but one that was asked for
/// again a round trip later, and so was lost twice, may follow itself once within it, a quarter of it later.
///
/// It remembers one packet for each value of the number's low eight bits, the one that left last; a packet forgotten
/// may be sent again. Most viewers lack nothing all their life, and it takes no memory before the first that does.
public struct ResendLimiter: Sendable {
    private struct Sending {
        /// Low bits of the number.
        var sequence: UInt32
        /// When it left first in its round trip: milliseconds, low thirty bits; above them how often it left.
        var timeAndTurn: UInt32

        init(_ sequence: Int64, time: UInt32, turn: Turn) {
            self.sequence = UInt32(truncatingIfNeeded: sequence)
            timeAndTurn = time & Self.times | turn.rawValue << 30
        }

        private static let times: UInt32 = (1 << 30) - 1

        var turn: Turn { Turn(rawValue: timeAndTurn >> 30) ?? .followed }

        func elapsed(at now: Instant) -> TimeSpan {
            .milliseconds(Int64((ResendLimiter.milliseconds(now) &- timeAndTurn) & Self.times))
        }
    }

    private enum Turn: UInt32 {
        case first
        /// It was lost when it left again.
        case again
        /// It has followed itself.
        case followed
    }

    public static let minimumInterval = TimeSpan.milliseconds(20)

    private static let capacity = 256

    private var sendings: [Sending] = []

    public init() {}

    /// Notes that a packet leaves, which it may (`mayResend`).
    public mutating func sent(_ sequence: Int64, roundTrip: TimeSpan, at now: Instant) {
        if sendings.isEmpty {
            // No packet is remembered where the low bits of the number are not those of the place.
            sendings = (0..<Self.capacity).map { Sending(~Int64($0), time: 0, turn: .first) }
        }
        let index = Self.index(sequence)
        let former = sendings[index]
        let isKnown = former.sequence == UInt32(truncatingIfNeeded: sequence)
        if isKnown, former.elapsed(at: now) < Self.interval(roundTrip) {
            sendings[index] = Sending(sequence, time: former.timeAndTurn, turn: .followed)
        } else {
            sendings[index] = Sending(sequence, time: Self.milliseconds(now), turn: isKnown ? .again : .first)
        }
    }

    /// Whether a packet may be sent again now: it has not left within the round trip, or the last 20 ms; or it did so for the
    /// second time at least, and not just now.
    public func mayResend(_ sequence: Int64, roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard !sendings.isEmpty else { return true }
        let sending = sendings[Self.index(sequence)]
        guard sending.sequence == UInt32(truncatingIfNeeded: sequence) else { return true }
        let elapsed = sending.elapsed(at: now)
        if elapsed >= Self.interval(roundTrip) { return true }
        return sending.turn == .again && elapsed >= max(roundTrip / 4, Self.minimumInterval)
    }

    /// A little less than the round trip, which is a mean: a browser asks again each 100 ms, however long the way is, and whom it
    /// finds a moment too early has to wait for as long again.
    private static func interval(_ roundTrip: TimeSpan) -> TimeSpan { max(roundTrip * 7 / 8, minimumInterval) }

    private static func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }

    private static func milliseconds(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 1_000_000)
    }
}

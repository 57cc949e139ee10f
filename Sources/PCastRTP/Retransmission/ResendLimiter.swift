package import PCastCore

/// Limits the retransmissions to a viewer: no packet is sent twice within a round-trip time. A packet that is requested
/// again after a round-trip time, because its retransmission was lost too, may be sent twice at a distance of a quarter
/// of it.
///
/// For each value of the low eight bits of the sequence number, the packet that was sent last is stored. A packet that
/// is not stored may be sent. Memory is only allocated at the first retransmission, because most viewers need none.
package struct ResendLimiter: Sendable {
    private struct Sending {
        /// The low 32 bits of the unwrapped sequence number.
        var sequence: UInt32
        /// The time of the first retransmission within its round-trip time, in milliseconds, in the low 30 bits; the
        /// turn in the upper two.
        var timeAndOrder: UInt32

        /// Creates a retransmission at a time in milliseconds.
        init(_ sequence: Int64, time: UInt32, order: RetransmissionOrder) {
            self.sequence = UInt32(truncatingIfNeeded: sequence)
            timeAndOrder = time & Self.times | order.rawValue << 30
        }

        /// The bits of the time.
        private static let times: UInt32 = (1 << 30) - 1

        /// The turn of the retransmission.
        var order: RetransmissionOrder { RetransmissionOrder(rawValue: timeAndOrder >> 30) ?? .followed }

        /// Returns the time since the retransmission.
        func elapsed(at now: Instant) -> TimeSpan {
            .milliseconds(Int64((ResendLimiter.milliseconds(now) &- timeAndOrder) & Self.times))
        }
    }

    /// The number of a retransmission.
    private enum RetransmissionOrder: UInt32 {
        /// The packet was retransmitted once.
        case first
        /// The retransmission was lost, and the packet was sent again.
        case repeated
        /// The packet was sent twice within a round-trip time.
        case followed
    }

    /// The minimum time between retransmissions of a packet.
    package static let minimumInterval = TimeSpan.milliseconds(20)

    /// The number of stored packets.
    private static let capacity = 256

    /// The retransmissions by the low bits of their sequence numbers; empty before the first.
    private var sendings: [Sending] = []

    /// Creates a limiter without retransmissions.
    package init() {}

    /// Records a retransmission, which ``mayResend(_:roundTrip:at:)`` allows.
    package mutating func sent(_ sequence: Int64, roundTrip: TimeSpan, at now: Instant) {
        if sendings.isEmpty {
            // Empty entries have numbers that do not belong to their index.
            sendings = (0..<Self.capacity).map { Sending(~Int64($0), time: 0, order: .first) }
        }
        let index = Self.index(sequence)
        let former = sendings[index]
        let isKnown = former.sequence == UInt32(truncatingIfNeeded: sequence)
        if isKnown, former.elapsed(at: now) < Self.interval(roundTrip) {
            sendings[index] = Sending(sequence, time: former.timeAndOrder, order: .followed)
        } else {
            sendings[index] = Sending(sequence, time: Self.milliseconds(now), order: isKnown ? .repeated : .first)
        }
    }

    /// Returns whether a packet may be retransmitted now. This is the case if it was not retransmitted within about the
    /// round-trip time and 20 ms. If it was lost repeatedly, a quarter of the round-trip time is sufficient.
    package func mayResend(_ sequence: Int64, roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard !sendings.isEmpty else { return true }
        let sending = sendings[Self.index(sequence)]
        guard sending.sequence == UInt32(truncatingIfNeeded: sequence) else { return true }
        let elapsed = sending.elapsed(at: now)
        if elapsed >= Self.interval(roundTrip) { return true }
        return sending.order == .repeated && elapsed >= max(roundTrip / 4, Self.minimumInterval)
    }

    /// Returns the minimum interval, which is shorter than the smoothed round-trip time. A browser repeats a request
    /// every 100 ms, so a request that arrives slightly too early would cost another interval.
    private static func interval(_ roundTrip: TimeSpan) -> TimeSpan { max(roundTrip * 7 / 8, minimumInterval) }

    /// Returns the index of a packet.
    private static func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (capacity - 1) }

    /// Returns a time in milliseconds, modulo 2^32.
    private static func milliseconds(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 1_000_000)
    }
}

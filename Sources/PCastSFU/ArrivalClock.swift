import PCastCore
import PCastWebRTC

/// Estimates when the frames of a track were captured from the times at which they arrive. It is used when the
/// publisher's sender reports state no time, or an impossible one.
///
/// The network only adds delay, so the frame with the least delay gives the best estimate. Clock drift is followed
/// slowly.
struct ArrivalClock {
    /// A timestamp, and the time at which it would have arrived without any delay.
    private var reference: (timestamp: UInt32, arrival: Instant)?
    /// The time of the current reference's first packet.
    private var began = Instant(nanoseconds: 0)
    /// The arrival of the newest packet; nil before the first one.
    private(set) var last: Instant?

    /// A larger difference between timestamps and elapsed time means that the timestamps come from another clock.
    private static let longestDelay = TimeSpan.seconds(2 as Int64)
    /// A publisher that sends reports sends the first one within this time.
    private static let settlingTime = TimeSpan.seconds(1 as Int64)

    /// Updates the estimate by the arrival of a packet with an RTP timestamp.
    mutating func observe(_ timestamp: UInt32, rate: ClockRate, at now: Instant) {
        last = now
        guard let reference, reference.timestamp != timestamp else {
            if reference == nil { begin(timestamp, at: now) }
            return
        }
        let expected =
            reference.arrival + rate.span(ofTicks: Int64(Int32(bitPattern: timestamp &- reference.timestamp)))
        let delay = now - expected
        if max(delay, .zero - delay) > Self.longestDelay { return begin(timestamp, at: now) }
        self.reference = (timestamp, delay < .zero ? now : expected + delay / 128)
    }

    private mutating func begin(_ timestamp: UInt32, at now: Instant) {
        reference = (timestamp, now)
        began = now
    }

    /// Whether a publisher that sends reports would have sent one by now.
    func isSettled(at now: Instant) -> Bool { reference != nil && now - began >= Self.settlingTime }

    /// The estimated capture clock; nil before the first packet.
    func captureClock(rate: ClockRate, _ clock: WallClockReference) -> CaptureClock? {
        reference.map { CaptureClock(timestamp: $0.timestamp, wallTime: clock.wallTime(at: $0.arrival), rate: rate) }
    }
}

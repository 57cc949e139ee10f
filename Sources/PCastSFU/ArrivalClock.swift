import PCastCore
import PCastWebRTC

/// When the frames of a track were captured, by when they arrived: for publishers whose sender reports say nothing, or what
/// cannot be.
///
/// The network only adds to the way here, so the frame that came the soonest tells it best. Drift is followed slowly.
struct ArrivalClock {
    /// A timestamp, and when it would have arrived if nothing had delayed it.
    private var reference: (timestamp: UInt32, arrival: Instant)?
    private var began = Instant(nanoseconds: 0)
    private(set) var last: Instant?

    /// Timestamps that differ so much from the time that passed are of another clock.
    private static let longestDelay = TimeSpan.seconds(2 as Int64)
    /// A publisher's first sender report comes by then.
    private static let settlingTime = TimeSpan.seconds(1 as Int64)

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

    /// Whether a publisher that reports would have done so.
    func isSettled(at now: Instant) -> Bool { reference != nil && now - began >= Self.settlingTime }

    /// Nil before the first packet.
    func captureClock(rate: ClockRate, _ clock: WallClockReference) -> CaptureClock? {
        reference.map { CaptureClock(timestamp: $0.timestamp, wallTime: clock.wallTime(at: $0.arrival), rate: rate) }
    }
}

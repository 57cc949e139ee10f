import PCastCore

/// Finds the packets that a viewer would have requested if its reports had not been lost.
///
/// A viewer sends little: Chromium 156 sends a report every 100 ms. A burst of losses that drops four of its packets
/// removes all requests of 400 ms, and retransmissions would come too late. Packets since then that cannot have been
/// reported are therefore retransmitted once without a request. TCP probes the tail of a flight similarly (RFC 8985,
/// section 7). This is meant for a hop that loses much and is not full.
struct MissingFeedbackDetector {
    /// The assumed interval of reports until the viewer's own interval is known, and its maximum.
    private static let maximumDefaultInterval = TimeSpan.milliseconds(300)
    private static let minimumDefaultInterval = TimeSpan.milliseconds(40)
    /// The tolerance for a late report.
    private static let grace = TimeSpan.milliseconds(20)
    /// Packets that were sent longer ago are already too late.
    private static let reach = TimeSpan.milliseconds(500)
    /// A viewer that is silent for longer is gone or disconnected.
    private static let longest = TimeSpan.seconds(1 as Int64)

    /// The time of the viewer's last report.
    private var lastReport: Instant?
    /// The maximum interval of the viewer's reports while none is lost.
    private var typical = maximumDefaultInterval
    /// The time before which all packets have been handled.
    private var repaired: Instant?

    /// Records a report of the viewer.
    mutating func observe(at now: Instant) {
        if let lastReport {
            let pause = now - lastReport
            // A much longer interval is a lost report. If such intervals continue, they become the usual ones.
            let isSilence = pause > typical * 3 / 2
            typical = isSilence ? typical * 17 / 16 : max(pause, typical * 15 / 16)
            typical = min(max(typical, Self.minimumDefaultInterval), Self.maximumDefaultInterval)
        }
        lastReport = now
    }

    /// Returns the range of times at which the packets that are to be retransmitted without a request were first sent.
    /// Returns nil if there are none, and each moment only once. The round trip is that to the viewer.
    mutating func takeUnreported(roundTrip: TimeSpan, at now: Instant) -> Range<Instant>? {
        guard let lastReport, now - lastReport < Self.longest else { return nil }
        let end = now - roundTrip - typical - Self.grace
        // A report covers packets that were sent one round trip before it arrived.
        let begin = max(lastReport - roundTrip, max(repaired ?? lastReport - roundTrip, now - Self.reach))
        guard begin < end else { return nil }
        repaired = end
        return begin..<end
    }
}

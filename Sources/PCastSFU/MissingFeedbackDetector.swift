import PCastCore

/// What a viewer would have asked for by now, had its reports not stayed away.
///
/// Who only watches sends little: Chromium 156 was seen to report each 100 ms. A burst that takes four of its packets takes
/// all its requests of 400 ms, and what was lost of the pictures meanwhile would come too late. So what left since, and
/// cannot have been reported on, is sent again unasked, once: as TCP probes the tail of what it sent (RFC 8985, section 7).
/// That is for a hop that loses much and is not full.
struct MissingFeedbackDetector {
    /// Until the viewer's own time between reports is known.
    private static let longestUsual = TimeSpan.milliseconds(300)
    private static let shortestUsual = TimeSpan.milliseconds(40)
    /// By which a report may be late.
    private static let grace = TimeSpan.milliseconds(20)
    /// What left longer ago is late already.
    private static let reach = TimeSpan.milliseconds(500)
    /// Who is silent for longer is gone, or cut off.
    private static let longest = TimeSpan.seconds(1 as Int64)

    /// When the viewer reported last.
    private var heard: Instant?
    /// How long its reports are apart at most, as long as none is lost.
    private var usual = longestUsual
    /// What left before it was sent again, if it had to be.
    private var repaired: Instant?

    /// The viewer reports.
    mutating func observe(at now: Instant) {
        if let heard {
            let pause = now - heard
            // A pause that is far longer than usual is one of the silences themselves; where they go on, they are usual.
            let isSilence = pause > usual * 3 / 2
            usual = isSilence ? usual * 17 / 16 : max(pause, usual * 15 / 16)
            usual = min(max(usual, Self.shortestUsual), Self.longestUsual)
        }
        heard = now
    }

    /// When what is to be sent again unasked left first; nil where nothing is. It is answered once for each moment.
    ///
    /// - Parameter roundTrip: to the viewer and back.
    mutating func takeUnreported(roundTrip: TimeSpan, at now: Instant) -> Range<Instant>? {
        guard let heard, now - heard < Self.longest else { return nil }
        let end = now - roundTrip - usual - Self.grace
        // A report is about what left a round trip before it came.
        let begin = max(heard - roundTrip, max(repaired ?? heard - roundTrip, now - Self.reach))
        guard begin < end else { return nil }
        repaired = end
        return begin..<end
    }
}

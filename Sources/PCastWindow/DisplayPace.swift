import PCastMedia

/// When pictures may be drawn on a display without vertical synchronisation: one for each of its ticks. It is told the
/// time.
///
/// A picture that comes up to half a tick early is drawn at once and paid for by the next one, so that pictures whose
/// arrival trembles, at the display's own rate, are all shown.
struct DisplayPace {
    /// From tick to tick.
    let interval: TimeSpan

    /// When the next picture is due by the pace of those before.
    private var next: Instant?

    /// - Parameter refreshRate: of the display, a second; 0 where it does not say, as virtual ones, which counts as 60.
    init(refreshRate: Int) {
        interval = .seconds(1) / Int64(refreshRate > 0 ? refreshRate : 60)
    }

    /// The earliest moment for a picture.
    func earliest(at now: Instant) -> Instant {
        guard let next else { return now }
        return max(now, next - interval / 2)
    }

    mutating func drawn(at now: Instant) {
        next = max(now, next ?? now) + interval
    }
}

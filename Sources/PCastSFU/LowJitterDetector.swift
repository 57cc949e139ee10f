import PCastCore

/// Whether a viewer's way has been calm for a while: nothing lost, no queue, no jitter to speak of.
///
/// Pictures of such a path are best shown as they come, which a browser does only when it is told so; it holds them for
/// about 40 ms else (JB5). At first a path is taken for calm, so that the first picture is not held.
struct LowJitterDetector {
    static let loss = 0.004
    static let queue = TimeSpan.milliseconds(15)
    static let jitter = TimeSpan.milliseconds(10)
    private static let timeout = TimeSpan.seconds(20 as Int64)

    private var restlessUntil: Instant?

    mutating func observe(loss: Double, queue: TimeSpan, jitter: TimeSpan, at now: Instant) {
        guard loss >= Self.loss || queue >= Self.queue || jitter >= Self.jitter else { return }
        restlessUntil = now + Self.timeout
    }

    func isLowJitter(at now: Instant) -> Bool { restlessUntil.map { now >= $0 } ?? true }
}

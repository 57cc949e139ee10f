import PCastCore

/// Whether a viewer's path has had low jitter for a while: no losses, no queue, little jitter.
///
/// Frames on such a path are best shown as they arrive. A browser does so only if the playout-delay extension asks for
/// it, and otherwise holds frames for about 40 ms. A new path counts as low-jitter, so that the first frame is not
/// held.
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

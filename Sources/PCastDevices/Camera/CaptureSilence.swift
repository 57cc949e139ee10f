import PCastMedia

/// Decides when a camera that gives no pictures has hung.
///
/// The longest exposures of webcams are half a second, so one that is silent for two has hung. Streaming is begun anew
/// then, which cures USB cameras that lost their way; when no picture comes of it, the camera has failed.
struct CaptureSilence {
    private static let usual = TimeSpan.seconds(2)
    /// Until the first picture; some cameras take seconds to warm up.
    private static let first = TimeSpan.seconds(5)
    /// Of a camera that is slow on purpose.
    private static let pictures = 5.0

    private let limit: TimeSpan
    private var last: Instant
    private var hasPicture = false

    /// Whether streaming was begun anew, and no picture came since.
    private(set) var isRestarted = false

    /// - Parameter now: when streaming begins.
    init(frameRate: FrameRate, at now: Instant) {
        limit = max(Self.usual, TimeSpan(seconds: Self.pictures / frameRate.perSecond))
        last = now
    }

    mutating func begin(at now: Instant) { last = now }

    mutating func restart(at now: Instant) {
        last = now
        isRestarted = true
    }

    mutating func end(at now: Instant) {
        last = now
        hasPicture = true
        isRestarted = false
    }

    func length(at now: Instant) -> TimeSpan { now - last }

    func isTooLong(at now: Instant) -> Bool {
        length(at: now) > (hasPicture || isRestarted ? limit : max(Self.first, limit))
    }
}

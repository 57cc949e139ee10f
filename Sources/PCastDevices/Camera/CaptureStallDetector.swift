import PCastCore

/// Detects cameras that have stopped delivering frames.
///
/// The longest exposure of webcams is half a second, so two seconds without a frame are an error. Streaming is then
/// restarted, which recovers many USB cameras. If no frame arrives after that, the camera has failed.
struct CaptureStallDetector {
    private static let typical = TimeSpan.seconds(2)
    /// The timeout for the first frame. Some cameras take seconds to start.
    private static let first = TimeSpan.seconds(5)
    /// The timeout in frame intervals, for cameras with a low frame rate.
    private static let frames = 5.0

    private let limit: TimeSpan
    private var last: Instant
    private var hasSlice = false

    /// Whether streaming was restarted and no frame has arrived since.
    private(set) var isRestarted = false

    /// Creates a detector. `now` is the time at which streaming starts.
    init(frameRate: FrameRate, at now: Instant) {
        limit = max(Self.typical, TimeSpan(seconds: Self.frames / frameRate.perSecond))
        last = now
    }

    mutating func begin(at now: Instant) { last = now }

    mutating func restart(at now: Instant) {
        last = now
        isRestarted = true
    }

    mutating func end(at now: Instant) {
        last = now
        hasSlice = true
        isRestarted = false
    }

    func length(at now: Instant) -> TimeSpan { now - last }

    func isTooLong(at now: Instant) -> Bool {
        length(at: now) > (hasSlice || isRestarted ? limit : max(Self.first, limit))
    }
}

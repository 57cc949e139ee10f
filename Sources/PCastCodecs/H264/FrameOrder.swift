import PCastCore

/// Detects from timestamps alone whether frames come out of presentation order.
///
/// A single step back is not reordering: RTSP corrects the first timestamps after an RTCP sender report, and clocks are
/// set. Reordered frames step back repeatedly.
struct FrameOrder {
    /// The size of a step back, in ticks, that counts as a clock change.
    private static let longestStep = ClockRate.video.hertz
    /// The number of steps back that indicate reordering. Two of them must be at most 16 frames apart, the largest
    /// reorder depth (ITU-T H.264, section A.3.1).
    private static let limit = 3
    private static let distance = 16

    private var last: Int64?
    private var steps = 0
    private var framesSinceStep = 0

    /// Adds the next frame's timestamp at 90 kHz and returns whether frames are reordered.
    mutating func isReordered(_ ticks: Int64) -> Bool {
        defer { last = ticks }
        framesSinceStep += 1
        guard let last, ticks < last, last - ticks < Self.longestStep else { return false }
        steps = framesSinceStep <= Self.distance ? steps + 1 : 1
        framesSinceStep = 0
        return steps >= Self.limit
    }
}

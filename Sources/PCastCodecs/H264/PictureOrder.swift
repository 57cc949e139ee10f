import PCastMedia

/// Whether pictures come in another order than they are shown, told by their times alone.
///
/// One step back is none: the first packets of RTSP have a time that is corrected when more is known, and clocks are
/// set. Reordered pictures step back again and again.
struct PictureOrder {
    /// A longer step back is a clock that was set.
    private static let longestStep = ClockRate.video.hertz
    /// So many steps back, with no more pictures between two of them than encoders reorder (ITU-T H.264, section A.3.1:
    /// 16).
    private static let limit = 3
    private static let distance = 16

    private var last: Int64?
    private var steps = 0
    private var picturesSinceStep = 0

    /// Takes the next picture's time, in ticks of 90 kHz.
    mutating func isReordered(_ ticks: Int64) -> Bool {
        defer { last = ticks }
        picturesSinceStep += 1
        guard let last, ticks < last, last - ticks < Self.longestStep else { return false }
        steps = picturesSinceStep <= Self.distance ? steps + 1 : 1
        picturesSinceStep = 0
        return steps >= Self.limit
    }
}

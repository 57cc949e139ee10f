public import PCastCore

/// When media were made that do not say so themselves: the wall time of one position, from which time goes on in step.
///
/// For a plain file, or a playlist without `EXT-X-PROGRAM-DATE-TIME`, the application that knows it says so
/// (``Source/wallClock``). It counts more than what the media say.
public struct WallClockMapping: Hashable, Sendable {
    /// A position of the item.
    public var position: TimeSpan
    /// When the frame at that position was made.
    public var wallTime: WallTime

    /// An anchor: the frame at `position` was made at `wallTime`.
    public init(position: TimeSpan, wallTime: WallTime) { (self.position, self.wallTime) = (position, wallTime) }

    /// An offset: what is to be added to a position to get the time since 1970-01-01T00:00:00Z.
    public init(offset: TimeSpan) {
        self.init(position: .zero, wallTime: WallTime(nanosecondsSinceEpoch: offset.nanoseconds))
    }

    /// The first frame was made at `wallTime`.
    public static func start(_ wallTime: WallTime) -> WallClockMapping {
        WallClockMapping(position: .zero, wallTime: wallTime)
    }

    var anchor: TimecodeAnchor { TimecodeAnchor(position: position, wallTime: wallTime, source: .application) }
}

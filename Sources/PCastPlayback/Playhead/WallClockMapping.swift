public import PCastCore

/// The wall-clock time of one position of media without times. Both advance at the same speed.
///
/// For a plain file, or a playlist without `EXT-X-PROGRAM-DATE-TIME`, the application supplies it as
/// ``Source/wallClock``. It has priority over the times in the media.
public struct WallClockMapping: Hashable, Sendable {
    /// The position in the item.
    public var position: TimeSpan
    /// The wall-clock time at which the frame at that position was captured.
    public var wallTime: WallTime

    /// Creates a mapping: the frame at `position` was captured at `wallTime`.
    public init(position: TimeSpan, wallTime: WallTime) { (self.position, self.wallTime) = (position, wallTime) }

    /// Creates a mapping from an offset: the position plus `offset` is the time since 1970-01-01T00:00:00Z.
    public init(offset: TimeSpan) {
        self.init(position: .zero, wallTime: WallTime(nanosecondsSinceEpoch: offset.nanoseconds))
    }

    /// Returns a mapping: the frame at position zero was captured at `wallTime`.
    public static func start(_ wallTime: WallTime) -> WallClockMapping {
        WallClockMapping(position: .zero, wallTime: wallTime)
    }

    /// The mapping as a timecode anchor.
    var anchor: TimecodeAnchor { TimecodeAnchor(position: position, wallTime: wallTime, source: .application) }
}

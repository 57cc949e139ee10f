public import PCastCore

/// The position of a segment on the player's timeline.
public struct TimelineSegment: Hashable, Sendable {
    /// The media sequence number.
    public var number: Int64
    /// The discontinuity sequence number in the last playlist that contained the segment.
    public var discontinuity: Int64
    /// The position of the first sample, from the origin of the timeline.
    public var start: TimeSpan
    /// The duration, from the playlist or measured.
    public var duration: TimeSpan
    /// The wall-clock time of the first sample; nil if it is unknown.
    public var wallTime: WallTime?
    /// Whether the segment is unavailable.
    public var isGap: Bool
    /// Whether the position comes from media timestamps, of this segment or a later one, and not from the playlist's
    /// durations.
    public var isMeasured = false

    /// The position after the last sample.
    public var end: TimeSpan { start + duration }
}

/// The position of a partial segment on the player's timeline.
public struct TimelinePart: Hashable, Sendable {
    /// The media sequence number of its segment.
    public var segment: Int64
    /// The index in its segment, from zero.
    public var index: Int
    /// The position of the first sample, from the origin of the timeline.
    public var start: TimeSpan
    /// The duration from the playlist.
    public var duration: TimeSpan

    /// The position after the last sample.
    public var end: TimeSpan { start + duration }
}

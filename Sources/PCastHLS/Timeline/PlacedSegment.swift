public import PCastMedia

/// A segment's place on the time that a player counts in.
public struct PlacedSegment: Hashable, Sendable {
    /// Its media sequence number.
    public var number: Int64
    /// Its discontinuity sequence number, in the playlist it was last seen in.
    public var discontinuity: Int64
    /// From the beginning of the timeline.
    public var start: TimeSpan
    public var duration: TimeSpan
    /// When its first picture or sample was made, as far as that is known.
    public var wallTime: WallTime?
    public var isGap: Bool
    /// Its media, or those behind it, were read: it lies where they do, whatever the playlist says of its duration.
    public var isMeasured = false

    public var end: TimeSpan { start + duration }
}

/// A part's place.
public struct PlacedPart: Hashable, Sendable {
    /// The number of its segment.
    public var segment: Int64
    /// From zero, in its segment.
    public var index: Int
    public var start: TimeSpan
    public var duration: TimeSpan

    public var end: TimeSpan { start + duration }
}

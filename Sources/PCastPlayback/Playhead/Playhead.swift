public import PCastCore

/// What is played at a moment, as everyone who follows playback sees it: one value, that nobody puts together anew.
public struct Playhead: Hashable, Sendable {
    public var epoch: PlayheadEpoch
    /// In the item.
    public var position: TimeSpan
    /// When what is shown was made; nil where nothing tells.
    public var timecode: WallTime?
    /// Where a seek may go; nil for what cannot be gone about in.
    public var seekableRange: ClosedRange<TimeSpan>?
    /// The timecodes of the ends of the seekable range; both nil where there is no such range, or no timecode in it.
    public var timecodeRange: ClosedRange<WallTime>?
    /// How fast the position moves at this moment; zero while it is paused, waits for media, or seeks.
    public var rate: Double
    /// A seek has not come to its picture yet.
    public var isSeeking: Bool

    /// What comes next cannot be had any more: the seekable range begins behind the position, and who wants to go on seeks to
    /// its beginning.
    public var isEvicted: Bool { seekableRange.map { position < $0.lowerBound } ?? false }
}

public import PCastCore

/// A snapshot of playback at one moment.
public struct Playhead: Hashable, Sendable {
    /// The epoch to which the values belong.
    public var epoch: PlayheadEpoch
    /// The position in the item.
    public var position: TimeSpan
    /// The wall-clock time at which the displayed frame was captured; nil if unknown.
    public var timecode: WallTime?
    /// The range of positions for seeks; nil if the content is not seekable.
    public var seekableRange: ClosedRange<TimeSpan>?
    /// The wall-clock times of the ends of the seekable range; nil if there is no such range or its times are unknown.
    public var timecodeRange: ClosedRange<WallTime>?
    /// The current speed of the position, as a factor; zero while playback is paused, buffers or seeks.
    public var rate: Double
    /// Whether a seek has not displayed its first frame yet.
    public var isSeeking: Bool

    /// Whether the media at the position is no longer available, because the seekable range begins later. Playback can
    /// only resume after a seek to the beginning of the range.
    public var isEvicted: Bool { seekableRange.map { position < $0.lowerBound } ?? false }
}

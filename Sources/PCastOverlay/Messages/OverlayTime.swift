/// Where playback is, in milliseconds since 1970-01-01T00:00:00Z (seed 000, `playerTime`).
public struct OverlayTime: Hashable, Sendable {
    /// Of the picture that is shown.
    public var timecode: Int64
    /// The beginning of the seekable window; nil where there is none, as in a live programme without one.
    public var initialTimecode: Int64?
    /// The end of the seekable window; nil where there is none.
    public var maxTimecode: Int64?

    public init(timecode: Int64, initialTimecode: Int64? = nil, maxTimecode: Int64? = nil) {
        (self.timecode, self.initialTimecode, self.maxTimecode) = (timecode, initialTimecode, maxTimecode)
    }
}

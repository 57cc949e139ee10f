/// The playback position and the seekable window, in milliseconds since 1970-01-01T00:00:00Z (`playerTime` of the Ease
/// Live SDK).
public struct OverlayTime: Hashable, Sendable {
    /// The time of the frame that is shown.
    public var timecode: Int64
    /// The beginning of the seekable window; nil if there is none.
    public var initialTimecode: Int64?
    /// The end of the seekable window; nil if there is none.
    public var maxTimecode: Int64?

    /// Creates a position with an optional seekable window.
    public init(timecode: Int64, initialTimecode: Int64? = nil, maxTimecode: Int64? = nil) {
        (self.timecode, self.initialTimecode, self.maxTimecode) = (timecode, initialTimecode, maxTimecode)
    }
}

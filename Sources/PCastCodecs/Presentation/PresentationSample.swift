public import PCastMedia

/// One thing that is shown, heard or told at a position of a presentation.
public enum PresentationSample: Sendable {
    /// For `duration`, as far as that is known.
    case picture(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// 48 kHz, two channels.
    case sound(AudioFrame, at: TimeSpan)
    /// Plain text in lines.
    case text(String, ClosedRange<TimeSpan>)
    /// Timed metadata as they stand in the container: ID3 tags, one behind another.
    case metadata([UInt8], at: TimeSpan)
}

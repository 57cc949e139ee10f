package import PCastCore

/// A decoded unit of a presentation with its position.
package enum PresentationSample: Sendable {
    /// A frame, with its duration if it is known.
    case frame(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// Audio at 48 kHz with two channels.
    case audio(AudioFrame, at: TimeSpan)
    /// Plain text with line feeds, and the time for which it is shown.
    case text(String, ClosedRange<TimeSpan>)
    /// Timed metadata as in the container: consecutive ID3 tags.
    case metadata([UInt8], at: TimeSpan)
}

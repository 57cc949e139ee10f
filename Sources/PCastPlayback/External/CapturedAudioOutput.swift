internal import PCastCore
internal import PCastRendering

/// An audio output that sends audio to an outlet as well as to another output. The volume affects only the other
/// output.
final class CapturedAudioOutput: AudioOutput {
    private let capture: PlaybackCapture
    private let other: any AudioOutput

    /// Creates an output that sends to an outlet and to another output.
    init(_ capture: PlaybackCapture, beside other: any AudioOutput) { (self.capture, self.other) = (capture, other) }

    var lead: TimeSpan { other.lead }

    var volume: Double {
        get { other.volume }
        set { other.volume = newValue }
    }

    /// Presents audio at both.
    func present(_ frame: AudioFrame, at due: Instant) {
        capture.play(frame, at: due)
        other.present(frame, at: due)
    }

    /// Discards the audio that the other output has not played yet.
    func discardPending() { other.discardPending() }

    /// Stops the other output.
    func stop() { other.stop() }
}

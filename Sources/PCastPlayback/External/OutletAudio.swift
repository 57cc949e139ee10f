internal import PCastCore
internal import PCastRendering

/// An audio output that sends audio to an outlet as well as to another output. The volume affects only the other
/// output.
final class OutletAudio: AudioOutput {
    private let outlet: PlaybackOutlet
    private let other: any AudioOutput

    /// Creates an output that sends to an outlet and to another output.
    init(_ outlet: PlaybackOutlet, beside other: any AudioOutput) { (self.outlet, self.other) = (outlet, other) }

    var lead: TimeSpan { other.lead }

    var volume: Double {
        get { other.volume }
        set { other.volume = newValue }
    }

    /// Presents audio at both.
    func present(_ frame: AudioFrame, at due: Instant) {
        outlet.hear(frame, at: due)
        other.present(frame, at: due)
    }

    /// Discards the audio that the other output has not played yet.
    func withdraw() { other.withdraw() }

    /// Stops the other output.
    func stop() { other.stop() }
}

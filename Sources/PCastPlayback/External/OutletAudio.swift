internal import PCastCore
internal import PCastRendering

/// Sound that goes to an outlet as well as to where it is heard; only there has it a volume.
final class OutletAudio: AudioOutput {
    private let outlet: PlaybackOutlet
    private let other: any AudioOutput

    init(_ outlet: PlaybackOutlet, beside other: any AudioOutput) { (self.outlet, self.other) = (outlet, other) }

    var lead: TimeSpan { other.lead }

    var volume: Double {
        get { other.volume }
        set { other.volume = newValue }
    }

    func present(_ frame: AudioFrame, at due: Instant) {
        outlet.hear(frame, at: due)
        other.present(frame, at: due)
    }

    func withdraw() { other.withdraw() }

    func stop() { other.stop() }
}

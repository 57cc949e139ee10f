import PCastCore
import PCastDevices
import PCastIO
import Synchronization

/// Captures the screen of an X server and the output of an audio server. Records when the screen becomes white and when
/// a tone of 1 kHz begins.
final class ClapperWitness: Sendable {
    private struct State {
        var flashes: [WallTime] = []
        var tones: [WallTime] = []
        var isWhite = false
        var detector = ClapperDetector()
    }

    /// The rate of screen captures; a flash is detected half a capture interval late on average.
    private static let frameRate = FrameRate(120)
    private static let meanLateness = TimeSpan.microseconds(1_000_000 / 240)

    /// The maximum distance between a flash and its tone; there is one flash a second.
    private static let farthest = TimeSpan.milliseconds(500)

    private let hearing: AsyncStream<Void>
    private let heard: AsyncStream<Void>.Continuation
    private let screen: ScreenSource
    private let sound: SystemAudioSource
    private let state = Mutex(State())

    /// Starts to capture. Throws `DeviceError` if the display or the audio server is not available.
    init(display: String, soundServer: String) throws(DeviceError) {
        (hearing, heard) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        screen = try ScreenSource(
            ScreenSpecification(display: display), frameRate: Self.frameRate, showsPointer: false)
        sound = try SystemAudioSource(channels: 1, server: soundServer)
        try screen.start { [weak self] in
            self?.see($0)
        } ended: { _ in
        }
        try sound.start { [weak self] in
            self?.hear($0)
        } ended: { _ in
        }
    }

    func stop() {
        screen.stop()
        sound.stop()
    }

    /// Waits for the first captured audio, even if it is silent, because a server needs time to start a recording.
    func awaitHearing() async {
        for await _ in hearing { return }
    }

    /// The delay of each flash relative to its tone, negative for a tone that is late; nil for a flash without a tone.
    var skews: [TimeSpan?] {
        let (flashes, tones) = state.withLock { ($0.flashes, $0.tones) }
        return flashes.map { flash in
            let skew = tones.map { flash - $0 - Self.meanLateness }.min { $0.magnitude < $1.magnitude }
            return skew.flatMap { $0.magnitude < Self.farthest ? $0 : nil }
        }
    }

    private func see(_ sample: VideoSample) {
        guard case .picture(let picture) = sample, let time = picture.captureTime else { return }
        let size = picture.dimensions
        let isWhite = picture.planeY[size.height / 2 * picture.strideY + size.width / 2] > 128
        state.withLock { state in
            if isWhite, !state.isWhite { state.flashes.append(time) }
            state.isWhite = isWhite
        }
    }

    private func hear(_ frame: AudioFrame) {
        guard let time = frame.captureTime else { return }
        heard.yield()
        state.withLock { state in
            if let onset = state.detector.listen(to: frame) { state.tones.append(time + onset) }
        }
    }
}

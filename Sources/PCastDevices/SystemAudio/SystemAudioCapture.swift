import PCastCore
import PCastIO
import Synchronization

/// The loop of a system audio thread and its state.
///
/// It is `@unchecked Sendable` because only its thread uses it, except for `isStopped`.
final class SystemAudioCapture: @unchecked Sendable {
    /// The interval at which it checks whether it was stopped.
    private static let interval = TimeSpan.milliseconds(20)

    /// The most samples that wait for the server's first timing.
    private static let timeout = Int64(AudioFrame.sampleRate)

    private let server: PulseServer
    private let followsDefault: Bool
    private let source: String
    private let channels: Int
    private var timeline: CaptureTimeline
    private var hasTime = false
    private var samples: [Float] = []
    private let stopped = Atomic(false)

    /// Prepares to capture a sink's monitor. With `followsDefault`, it is that of the default sink, and changes with
    /// it.
    init(server: PulseServer, source: String, followsDefault: Bool, channels: Int) {
        self.server = server
        self.source = source
        self.followsDefault = followsDefault
        self.channels = channels
        timeline = CaptureTimeline(rate: AudioFrame.sampleRate, channels: channels)
    }

    /// Ends `run` within its interval. It can be called from any thread.
    func stop() { stopped.store(true, ordering: .releasing) }

    private var isStopped: Bool { stopped.load(ordering: .acquiring) }

    /// Captures until it is stopped (nil) or the source ends.
    func run(deliver: @Sendable (AudioFrame) -> Void) -> SourceEnd? {
        let recording: PulseRecording
        do throws(DeviceError) {
            recording = try PulseRecording(source, isBound: !followsDefault, channels: channels, of: server)
        } catch {
            return .failed("\(error)")
        }
        let watch = followsDefault ? DefaultSinkMonitor(of: server) : nil
        while !isStopped {
            guard server.turn(within: Self.interval) else {
                return isStopped ? nil : .vanished("the connection to the audio server was lost (\(server.reason))")
            }
            if let sink = watch?.changed(), sink.monitor != recording.source { recording.move(to: sink.monitor) }
            if recording.isOver { return .vanished("the audio output of \(source) no longer exists") }
            take(from: recording)
            while !isStopped, let frame = timeline.next() { deliver(finished(frame)) }
        }
        return nil
    }

    private func take(from recording: PulseRecording) {
        samples.removeAll(keepingCapacity: true)
        recording.read { samples.append(contentsOf: $0) }
        guard !samples.isEmpty else { return }
        timeline.append(samples)
        if let timing = recording.timing() {
            hasTime = true
            _ = timeline.observe(position: timing.position, at: timing.instant)
        } else if !hasTime, recording.position > Self.timeout {
            // If the server never reports timing, the current time is used.
            _ = timeline.observe(position: recording.position, at: MonotonicClock.now())
        }
    }

    private func finished(_ frame: CaptureTimeline.Frame) -> AudioFrame {
        AudioFrame(
            samples: frame.samples, channels: channels,
            captureTime: MonotonicClock.reference().wallTime(at: frame.start),
            timestamp: MediaTime(ticks: frame.ticks, rate: .opus))
    }
}

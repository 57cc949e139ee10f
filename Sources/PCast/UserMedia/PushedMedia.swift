import PCastCore
import PCastIO
import PCastRTP
import Synchronization

/// The media that a program pushes, and its sinks.
final class PushedMedia: PublishedMedia {
    private struct State {
        var sinks: [Int: Sink] = [:]
        var lastID = 0
        /// The newest frame and the time at which it was pushed; nil before the first one.
        var lastFrame: (frame: VideoFrame, since: Instant)?
    }

    let lifecycle = StreamLifecycle(.publisher)
    let videoRate: Double?
    let audioChannels: Int?
    private let state = Mutex(State())
    /// Serializes the output of frames.
    private let outputLock = Mutex(())

    /// The age below which the last frame is not repeated, because another one follows.
    private static let repetition = TimeSpan.milliseconds(150)

    init(videoRate: Double?, audioChannels: Int?) {
        (self.videoRate, self.audioChannels) = (videoRate, audioChannels)
    }

    var hasAudio: Bool { audioChannels != nil }
    var dimensions: Dimensions? { state.withLock { $0.lastFrame?.frame.dimensions } }
    /// Whether there are sinks.
    var hasSubscribers: Bool { state.withLock { !$0.sinks.isEmpty } }

    func deviceName(_ type: MediaType) -> String? { nil }

    /// Sends a frame to all sinks.
    func push(_ frame: VideoFrame) {
        guard videoRate != nil else { return }
        outputLock.withLock { _ in
            let sinks = state.withLock { state in
                state.lastFrame = (frame, MonotonicClock.now())
                return state.sinks.values
            }
            for sink in sinks { sink(.video(.frame(frame))) }
        }
    }

    /// Sends audio to all sinks.
    func push(_ audio: AudioFrame) {
        guard hasAudio else { return }
        for sink in state.withLock({ $0.sinks.values }) { sink(.audio(audio)) }
    }

    /// Ends the media.
    func stop() { lifecycle.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped")) }

    // MARK: Sinks

    func add(_ sink: @escaping Sink) -> Int {
        let id = state.withLock { state in
            state.lastID += 1
            state.sinks[state.lastID] = sink
            return state.lastID
        }
        repeatLastFrame()
        return id
    }

    func remove(_ id: Int) { _ = state.withLock { $0.sinks.removeValue(forKey: id) } }

    func setDemand(_ id: Int, _ hasSubscribers: Bool) {}

    /// Repeats the last frame. If the frame does not change, there is no other frame to encode.
    func requestKeyFrame() { repeatLastFrame() }

    /// Sends the last frame again, with its times advanced by its age.
    private func repeatLastFrame() {
        outputLock.withLock { _ in
            let now = MonotonicClock.now()
            let (lastFrame, sinks) = state.withLock { ($0.lastFrame, $0.sinks.values) }
            guard let (frame, since) = lastFrame, now - since > Self.repetition else { return }
            let age = now - since
            let time = frame.timestamp
            let repeatedFrame = frame.retimed(
                captureTime: frame.captureTime.map { $0 + age },
                timestamp: MediaTime(ticks: time.ticks + time.rate.ticks(in: age), rate: time.rate))
            for sink in sinks { sink(.video(.frame(repeatedFrame))) }
        }
    }
}

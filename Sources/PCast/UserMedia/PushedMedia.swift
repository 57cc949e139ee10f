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
        var standing: (picture: VideoFrame, since: Instant)?
    }

    let life = StreamLifecycle(.publisher)
    let videoRate: Double?
    let soundChannels: Int?
    private let state = Mutex(State())
    /// Serializes the output of frames.
    private let turn = Mutex(())

    /// The age below which the last frame is not repeated, because another one follows.
    private static let repetition = TimeSpan.milliseconds(150)

    init(videoRate: Double?, soundChannels: Int?) {
        (self.videoRate, self.soundChannels) = (videoRate, soundChannels)
    }

    var hasSound: Bool { soundChannels != nil }
    var dimensions: Dimensions? { state.withLock { $0.standing?.picture.dimensions } }
    /// Whether there are sinks.
    var isTaken: Bool { state.withLock { !$0.sinks.isEmpty } }

    func deviceName(_ type: MediaType) -> String? { nil }

    /// Sends a frame to all sinks.
    func push(_ picture: VideoFrame) {
        guard videoRate != nil else { return }
        turn.withLock { _ in
            let sinks = state.withLock { state in
                state.standing = (picture, MonotonicClock.now())
                return state.sinks.values
            }
            for sink in sinks { sink(.video(.picture(picture))) }
        }
    }

    /// Sends audio to all sinks.
    func push(_ sound: AudioFrame) {
        guard hasSound else { return }
        for sink in state.withLock({ $0.sinks.values }) { sink(.audio(sound)) }
    }

    /// Ends the media.
    func stop() { life.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped")) }

    // MARK: Sinks

    func add(_ sink: @escaping Sink) -> Int {
        let id = state.withLock { state in
            state.lastID += 1
            state.sinks[state.lastID] = sink
            return state.lastID
        }
        repeatStanding()
        return id
    }

    func remove(_ id: Int) { _ = state.withLock { $0.sinks.removeValue(forKey: id) } }

    func setDemand(_ id: Int, _ wants: Bool) {}

    /// Repeats the last frame. If the picture does not change, there is no other frame to encode.
    func requestKeyFrame() { repeatStanding() }

    /// Sends the last frame again, with its times advanced by its age.
    private func repeatStanding() {
        turn.withLock { _ in
            let now = MonotonicClock.now()
            let (standing, sinks) = state.withLock { ($0.standing, $0.sinks.values) }
            guard let (picture, since) = standing, now - since > Self.repetition else { return }
            let age = now - since
            let time = picture.timestamp
            let again = picture.retimed(
                captureTime: picture.captureTime.map { $0 + age },
                timestamp: MediaTime(ticks: time.ticks + time.rate.ticks(in: age), rate: time.rate))
            for sink in sinks { sink(.video(.picture(again))) }
        }
    }
}

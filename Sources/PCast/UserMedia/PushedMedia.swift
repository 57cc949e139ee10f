import PCastCore
import PCastIO
import PCastRTP
import Synchronization

/// What a program pushes, and whoever takes it.
final class PushedMedia: PublishedMedia {
    private struct State {
        var sinks: [Int: Sink] = [:]
        var lastID = 0
        /// The newest picture, and when it came.
        var standing: (picture: VideoFrame, since: Instant)?
    }

    let life = StreamLifecycle(.publisher)
    let videoRate: Double?
    let soundChannels: Int?
    private let state = Mutex(State())
    /// Pictures go out by one at a time.
    private let turn = Mutex(())

    /// A picture that is newer than this need not be sent again: another one follows.
    private static let repetition = TimeSpan.milliseconds(150)

    init(videoRate: Double?, soundChannels: Int?) {
        (self.videoRate, self.soundChannels) = (videoRate, soundChannels)
    }

    var hasSound: Bool { soundChannels != nil }
    var dimensions: Dimensions? { state.withLock { $0.standing?.picture.dimensions } }
    var isTaken: Bool { state.withLock { !$0.sinks.isEmpty } }

    func deviceName(_ type: MediaType) -> String? { nil }

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

    func push(_ sound: AudioFrame) {
        guard hasSound else { return }
        for sink in state.withLock({ $0.sinks.values }) { sink(.audio(sound)) }
    }

    func stop() { life.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped")) }

    // MARK: Takers

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

    /// Where nothing moves there is no other picture to encode than the one that stands.
    func requestKeyFrame() { repeatStanding() }

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

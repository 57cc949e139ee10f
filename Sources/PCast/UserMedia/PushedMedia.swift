import PCastIO
import PCastMedia
import PCastRTP
import Synchronization

/// What a program pushes, and whoever takes it.
final class PushedMedia: PublishedMedia {
    private struct State {
        var takers: [Int: Taker] = [:]
        var lastID = 0
        /// The newest picture, and when it came.
        var standing: (picture: VideoFrame, since: Instant)?
    }

    let life = StreamLife(.publisher)
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
    var isTaken: Bool { state.withLock { !$0.takers.isEmpty } }

    func deviceName(_ type: MediaType) -> String? { nil }

    func push(_ picture: VideoFrame) {
        guard videoRate != nil else { return }
        turn.withLock { _ in
            let takers = state.withLock { state in
                state.standing = (picture, MonotonicClock.now())
                return state.takers.values
            }
            for taker in takers { taker(.video(.picture(picture))) }
        }
    }

    func push(_ sound: AudioFrame) {
        guard hasSound else { return }
        for taker in state.withLock({ $0.takers.values }) { taker(.audio(sound)) }
    }

    func stop() { life.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped")) }

    // MARK: Takers

    func add(_ taker: @escaping Taker) -> Int {
        let id = state.withLock { state in
            state.lastID += 1
            state.takers[state.lastID] = taker
            return state.lastID
        }
        repeatStanding()
        return id
    }

    func remove(_ id: Int) { _ = state.withLock { $0.takers.removeValue(forKey: id) } }

    func setWants(_ id: Int, _ wants: Bool) {}

    /// Where nothing moves there is no other picture to encode than the one that stands.
    func requestKeyFrame() { repeatStanding() }

    private func repeatStanding() {
        turn.withLock { _ in
            let now = MonotonicClock.now()
            let (standing, takers) = state.withLock { ($0.standing, $0.takers.values) }
            guard let (picture, since) = standing, now - since > Self.repetition else { return }
            let age = now - since
            let time = picture.timestamp
            let again = picture.retimed(
                captureTime: picture.captureTime.map { $0 + age },
                timestamp: MediaTime(ticks: time.ticks + time.rate.ticks(in: age), rate: time.rate))
            for taker in takers { taker(.video(.picture(again))) }
        }
    }
}

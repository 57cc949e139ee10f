import PCastDevices
import PCastMedia
import Synchronization

/// The opened sources of one stream, and whoever takes their frames. They start with the first taker, and stop when
/// told to or when nobody holds them.
final class LocalMedia: Sendable {
    typealias Taker = @Sendable (SourceFrame) -> Void

    private struct State {
        var takers: [Int: Taker] = [:]
        var lastID = 0
        var hasStarted = false
        var isStopped = false
        var running = 0
    }

    let video: (any VideoSource)?
    let audio: (any AudioSource)?
    /// Ends with its sources.
    let life = StreamLife()
    private let state = Mutex(State())

    init(video: (any VideoSource)?, audio: (any AudioSource)?) {
        self.video = video
        self.audio = audio
    }

    deinit {
        video?.stop()
        audio?.stop()
    }

    /// Frames go to `taker` on the sources' threads, which it must not hold up.
    func add(_ taker: @escaping Taker) throws(PCastError) -> Int {
        let (id, isFirst) = state.withLock { state in
            state.lastID += 1
            state.takers[state.lastID] = taker
            defer { state.hasStarted = true }
            return (state.lastID, !state.hasStarted && !state.isStopped)
        }
        if isFirst { try start() }
        return id
    }

    func remove(_ id: Int) { _ = state.withLock { $0.takers.removeValue(forKey: id) } }

    func stop() {
        state.withLock { $0.isStopped = true }
        video?.stop()
        audio?.stop()
        life.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped"))
    }

    private func start() throws(PCastError) {
        state.withLock { $0.running = (video == nil ? 0 : 1) + (audio == nil ? 0 : 1) }
        do throws(DeviceError) {
            try video?.start(
                deliver: { [weak self] in self?.deliver(.video($0)) }, ended: { [weak self] in self?.sourceEnded($0) }
            )
            try audio?.start(
                deliver: { [weak self] in self?.deliver(.audio($0)) }, ended: { [weak self] in self?.sourceEnded($0) })
        } catch {
            stop()
            throw PCastError(error)
        }
    }

    private func deliver(_ frame: SourceFrame) {
        let takers = state.withLock { $0.takers.values }
        for taker in takers { taker(frame) }
    }

    /// The stream ends with its last source, or with the first that fails.
    private func sourceEnded(_ end: SourceEnd) {
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        switch end {
        case .ended:
            if isLast { life.end(StreamEndedInfo(ender: .source, reason: .ended, reasonDescription: "ended")) }
        case .failed(let reason), .vanished(let reason):
            life.end(StreamEndedInfo(ender: .source, reason: .failed, reasonDescription: reason))
        }
    }
}

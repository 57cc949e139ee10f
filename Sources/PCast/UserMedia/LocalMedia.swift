import PCastCore
import PCastDevices
import PCastRTP
import Synchronization

/// The opened sources of one stream, and whoever takes their frames. They start with the first taker, and stop when
/// told to or when nobody holds them. On demand, the devices are given back while no taker wants anything.
final class LocalMedia: Sendable {
    private struct State {
        var sinks: [Int: Sink] = [:]
        /// Takers that have somebody to take for.
        var wanting: Set<Int> = []
        var lastID = 0
        var hasStarted = false
        var isStopped = false
        var running = 0
    }

    let video: VideoInput?
    let audio: AudioInput?
    private let isOnDemand: Bool
    /// Ends with its sources.
    let life = StreamLifecycle(.publisher)
    private let state = Mutex(State())

    private let devices = Mutex(())

    init(_ inputs: SourceInputs, isOnDemand: Bool = false) {
        video = inputs.video
        audio = inputs.audio
        self.isOnDemand = isOnDemand
        if isOnDemand { settle() }
    }

    deinit {
        video?.stop()
        audio?.stop()
    }

    /// Frames go to `sink` on the sources' threads, which it must not hold up.
    func add(_ sink: @escaping Sink) throws(PCastError) -> Int {
        let (id, isFirst) = state.withLock { state in
            state.lastID += 1
            state.sinks[state.lastID] = sink
            defer { state.hasStarted = true }
            return (state.lastID, !state.hasStarted && !state.isStopped)
        }
        if isFirst { try start() }
        return id
    }

    func remove(_ id: Int) {
        _ = state.withLock { $0.sinks.removeValue(forKey: id) }
        setDemand(id, false)
    }

    /// Says whether a taker has somebody to take for. Opens and closes devices on demand, on a thread of its own.
    func setDemand(_ id: Int, _ wants: Bool) {
        state.withLock { state in
            if wants, state.sinks[id] != nil { state.wanting.insert(id) } else { state.wanting.remove(id) }
        }
        guard isOnDemand else { return }
        Task { [weak self] in
            guard let media = self else { return }
            try? await DeviceThread.run { () throws(DeviceError) in media.settle() }
        }
    }

    /// Brings the devices to what is wanted now; whoever comes later finds it done.
    private func settle() {
        devices.withLock { _ in
            if state.withLock({ $0.wanting.isEmpty }) {
                video?.rest()
                audio?.rest()
            } else {
                video?.resume()
                audio?.resume()
            }
        }
    }

    /// Asks for other sources, or otherwise of the same ones.
    func apply(_ options: UserMediaOptions) throws(DeviceError) {
        try devices.withLock { _ throws(DeviceError) in
            if let video, let request = options.videoRequest, request != video.request { try video.apply(request) }
            if let audio, let request = options.audioRequest, request != audio.request { try audio.apply(request) }
        }
    }

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
        let sinks = state.withLock { $0.sinks.values }
        for sink in sinks { sink(frame) }
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

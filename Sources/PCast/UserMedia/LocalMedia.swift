import PCastCore
import PCastDevices
import PCastRTP
import Synchronization

/// The opened sources of one stream, and the sinks of their frames. They start with the first sink, and end when they
/// are stopped or released. With `isOnDemand`, the devices are closed while no sink has subscribers.
final class LocalMedia: Sendable {
    private struct State {
        var sinks: [Int: Sink] = [:]
        /// The sinks with subscribers.
        var sinksWithSubscribers: Set<Int> = []
        var lastID = 0
        var hasStarted = false
        var isStopped = false
        var running = 0
    }

    let video: VideoInput?
    let audio: AudioInput?
    private let isOnDemand: Bool
    /// The lifecycle of the sources.
    let lifecycle = StreamLifecycle(.publisher)
    private let state = Mutex(State())

    /// Serializes changes of the devices.
    private let devices = Mutex(())

    init(_ inputs: SourceInputs, isOnDemand: Bool = false) {
        video = inputs.video
        audio = inputs.audio
        self.isOnDemand = isOnDemand
        if isOnDemand { updateDevices() }
    }

    deinit {
        video?.stop()
        audio?.stop()
    }

    /// Adds a sink and returns its ID. Frames arrive on the sources' threads, which the sink must not block. Throws an
    /// error if the sources cannot start.
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

    /// Removes the sink.
    func remove(_ id: Int) {
        _ = state.withLock { $0.sinks.removeValue(forKey: id) }
        setDemand(id, false)
    }

    /// Sets whether a sink has subscribers. With `isOnDemand` it opens or closes the devices on another thread.
    func setDemand(_ id: Int, _ hasSubscribers: Bool) {
        state.withLock { state in
            if hasSubscribers, state.sinks[id] != nil {
                state.sinksWithSubscribers.insert(id)
            } else {
                state.sinksWithSubscribers.remove(id)
            }
        }
        guard isOnDemand else { return }
        Task { [weak self] in
            guard let media = self else { return }
            try? await DeviceThread.run { () throws(DeviceError) in media.updateDevices() }
        }
    }

    /// Opens or closes the devices by the present demand. Concurrent calls have the same result.
    private func updateDevices() {
        devices.withLock { _ in
            if state.withLock({ $0.sinksWithSubscribers.isEmpty }) {
                video?.rest()
                audio?.rest()
            } else {
                video?.resume()
                audio?.resume()
            }
        }
    }

    /// Applies other options: other sources, or other constraints on the same ones. Throws an error if they cannot be
    /// applied.
    func apply(_ options: UserMediaOptions) throws(DeviceError) {
        try devices.withLock { _ throws(DeviceError) in
            if let video, let request = options.videoRequest, request != video.request { try video.apply(request) }
            if let audio, let request = options.audioRequest, request != audio.request { try audio.apply(request) }
        }
    }

    /// Stops the sources permanently.
    func stop() {
        state.withLock { $0.isStopped = true }
        video?.stop()
        audio?.stop()
        lifecycle.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "stopped"))
    }

    /// Starts the sources. Throws an error if one of them fails.
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

    /// Sends a frame to all sinks.
    private func deliver(_ frame: SourceFrame) {
        let sinks = state.withLock { $0.sinks.values }
        for sink in sinks { sink(frame) }
    }

    /// Ends the stream after its last source has ended, or when one fails.
    private func sourceEnded(_ end: SourceEnd) {
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        switch end {
        case .ended:
            if isLast { lifecycle.end(StreamEndedInfo(ender: .source, reason: .ended, reasonDescription: "ended")) }
        case .failed(let reason), .vanished(let reason):
            lifecycle.end(StreamEndedInfo(ender: .source, reason: .failed, reasonDescription: reason))
        }
    }
}

/// A unit of media that a publication's source delivers.
enum SourceFrame: Sendable {
    /// A frame of video, encoded or not.
    case video(VideoSample)
    /// A frame of audio.
    case audio(AudioFrame)
    /// An Opus packet of a source with encoded audio.
    case codedAudio(EncodedFrame)

    /// The capture time; nil if the source does not know it.
    var captureTime: WallTime? {
        switch self {
        case .video(.frame(let frame)): frame.captureTime
        case .video(.coded(let frame)): frame.captureTime
        case .audio(let frame): frame.captureTime
        case .codedAudio(let frame): frame.captureTime
        }
    }
}

public import PCastCore
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

/// Video and audio that a program creates itself or gets from elsewhere, as a stream that can be published and
/// rendered. It lasts until it is stopped or released.
public final class ApplicationMedia: Sendable {
    /// The stream to publish.
    public let mediaStream: MediaStream

    private let media: PushedMedia

    /// Creates media without frames.
    ///
    /// - Parameters:
    ///   - frameRate: The approximate frame rate in frames per second, for encoders; nil without video.
    ///   - channels: The number of audio channels, 1 or 2; nil without audio.
    public init(frameRate: Double? = 30, channels: Int? = 2) {
        precondition(channels.map { (1...2).contains($0) } ?? true, "audio must have one or two channels")
        media = PushedMedia(videoRate: frameRate, audioChannels: channels)
        mediaStream = MediaStream(application: media)
    }

    deinit { media.stop() }

    /// Whether the media has subscribers or renderers.
    public var hasSubscribers: Bool { media.hasSubscribers }

    /// Emits a frame, at the time at which it is to be shown. Its timestamps have to advance with real time. The last
    /// frame is repeated for later subscribers if none follows. Never blocks.
    public func push(_ frame: VideoFrame) { media.push(frame) }

    /// Emits audio, at the time at which it is to be played or earlier. Must not be called concurrently. Never blocks.
    public func push(_ audio: AudioFrame) { media.push(audio) }

    /// Ends the stream and its publications. It has no effect when it is called again.
    public func stop() { media.stop() }
}

package import PCastCore
import Synchronization

/// The options of a renderer.
package struct StreamRendererOptions: Sendable {
    /// Whether frames are presented at once or in sync with the audio.
    package var synchronization: MediaSynchronizer.Mode

    /// Whether latency and skew are measured from the test pattern. That costs some microseconds per frame.
    package var measuresTestSignal: Bool

    /// The audio delay of encoder and decoder together, which is subtracted from the measured skew. For Opus at 48 kHz
    /// it is 6.5 ms (look-ahead; RFC 6716, section 2).
    package var audioDecoderDelay: TimeSpan

    /// The ALSA device for the audio output, such as `default`; nil for none.
    package var audioDevice: String?

    /// Creates options.
    package init(
        synchronization: MediaSynchronizer.Mode = .lipSync, measuresTestSignal: Bool = true,
        audioDecoderDelay: TimeSpan = .microseconds(6_500), audioDevice: String? = nil
    ) {
        self.synchronization = synchronization
        self.measuresTestSignal = measuresTestSignal
        self.audioDecoderDelay = audioDecoderDelay
        self.audioDevice = audioDevice
    }
}

/// The state that the renderer's threads share.
struct RendererState {
    var synchronizer: MediaSynchronizer
    var meter: RenderMeter
    var lastFrame: VideoFrame?
    var isMuted = false
    /// The time at which the last audio so far ends; nil without any.
    var audioEnd: Instant?
    var surface: (any RenderSurface)?
    var onFrameReady: FrameReadyCallback?
}

/// The shared state behind a lock, which is held only for short assignments.
final class SharedRendererState: Sendable {
    private let mutex: Mutex<RendererState>

    init(_ options: StreamRendererOptions) {
        mutex = Mutex(
            RendererState(
                synchronizer: MediaSynchronizer(mode: options.synchronization),
                meter: RenderMeter(audioDecoderDelay: options.audioDecoderDelay)))
    }

    func withLock<Result: Sendable>(_ body: (inout RendererState) -> Result) -> Result {
        mutex.withLock { body(&$0) }
    }
}

/// The callbacks of a renderer. They run on the renderer's threads and must return quickly.
package struct RendererCallbacks: Sendable {
    /// Called once, when the first frame is presented.
    package var onFirstFrame: (@Sendable () -> Void)?

    /// Called when the size of the frames is known or changes.
    package var onDimensions: (@Sendable (Dimensions) -> Void)?

    /// Called when a frame is due.
    package var onFrame: (@Sendable (VideoFrame) -> Void)?

    /// Called with audio and its presentation time, ahead of that time. The audio is silent while muted.
    package var onAudio: (@Sendable (AudioFrame, Instant) -> Void)?

    /// Called when decoding requires a key frame.
    package var onKeyFrameNeeded: (@Sendable () -> Void)?

    /// Creates callbacks; nil for those that are not needed.
    package init(
        onFirstFrame: (@Sendable () -> Void)? = nil, onDimensions: (@Sendable (Dimensions) -> Void)? = nil,
        onFrame: (@Sendable (VideoFrame) -> Void)? = nil,
        onAudio: (@Sendable (AudioFrame, Instant) -> Void)? = nil, onKeyFrameNeeded: (@Sendable () -> Void)? = nil
    ) {
        self.onFirstFrame = onFirstFrame
        self.onDimensions = onDimensions
        self.onFrame = onFrame
        self.onAudio = onAudio
        self.onKeyFrameNeeded = onKeyFrameNeeded
    }
}

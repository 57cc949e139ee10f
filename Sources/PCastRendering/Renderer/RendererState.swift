import PCastCore
import Synchronization

/// The state that the renderer's threads share.
struct RendererState {
    var synchronizer: MediaSynchronizer
    var meter: RenderMeter
    var lastFrame: VideoFrame?
    var isMuted = false
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

import PCastMedia
import Synchronization

/// What the renderer's threads share.
struct RendererState {
    var synchronizer: MediaSynchronizer
    var meter: RenderMeter
    var lastFrame: VideoFrame?
    var isMuted = false
    var surface: (any RenderSurface)?
    var onFrameReady: FrameReadyCallback?
}

/// The renderer's shared state behind its lock, held for the length of an assignment.
final class SharedRendererState: Sendable {
    private let mutex: Mutex<RendererState>

    init(_ options: RendererOptions) {
        mutex = Mutex(
            RendererState(
                synchronizer: MediaSynchronizer(mode: options.synchronization),
                meter: RenderMeter(soundDecoderDelay: options.soundDecoderDelay)))
    }

    func withLock<Result: Sendable>(_ body: (inout RendererState) -> Result) -> Result {
        mutex.withLock { body(&$0) }
    }
}

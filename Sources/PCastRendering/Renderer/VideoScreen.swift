import PCastCore
import PCastIO
import Synchronization

/// Presents frames: stores the last one, updates the statistics, and calls the callbacks.
final class VideoScreen: Sendable {
    private let shared: SharedRendererState
    private let callbacks: RendererCallbacks
    private let measuresTestSignal: Bool
    private let dimensions = Mutex<Dimensions?>(nil)

    init(shared: SharedRendererState, callbacks: RendererCallbacks, options: StreamRendererOptions) {
        self.shared = shared
        self.callbacks = callbacks
        measuresTestSignal = options.measuresTestSignal
    }

    /// Presents a frame. Only one thread may call it at a time.
    func show(_ frame: VideoFrame) {
        let now = MonotonicClock.reference()
        let stamp = measuresTestSignal ? TestPatternStrip.read(frame) : nil
        let surface = shared.withLock { state in
            state.lastFrame = frame
            state.meter.shown(
                timestamp: frame.timestamp, stamp: stamp, at: now.instant, wallTime: now.wallTime)
            return state.surface
        }
        surface?.show(frame)
        let before = dimensions.withLock { dimensions in
            defer { dimensions = frame.dimensions }
            return dimensions
        }
        if before == nil { callbacks.onFirstFrame?() }
        if before != frame.dimensions { callbacks.onDimensions?(frame.dimensions) }
        callbacks.onFrame?(frame)
    }
}

import PCastCodecs
public import PCastCore
import Synchronization

/// A render surface in memory, for a process without a display: it keeps the newest frame, and paints it into pixels
/// when it is asked to.
///
/// It is ready from the beginning and is never lost.
public final class MemorySurface: RenderSurface {
    private struct State {
        var arrangement: FrameArrangement
        var dimensions: Dimensions
        var frame: VideoFrame?
        var statistics = SurfaceStatistics()
    }

    /// The size until the first frame arrives.
    private static let provisional = Dimensions(width: 640, height: 360)

    private let hasFixedDimensions: Bool
    private let surfaceEvents = SurfaceEvents()
    private let state: Mutex<State>

    /// Creates a surface in memory. The dimensions are in pixels, at least 1 by 1; nil for the size of the frames as
    /// displayed. The arrangement determines how frames are fitted.
    public init(dimensions: Dimensions? = nil, arrangement: FrameArrangement = FrameArrangement()) {
        hasFixedDimensions = dimensions != nil
        let size = dimensions.map { Dimensions(width: max($0.width, 1), height: max($0.height, 1)) }
        let initial = size ?? Self.provisional
        state = Mutex(State(arrangement: arrangement, dimensions: initial))
        surfaceEvents.notify(.ready(initial))
    }

    deinit { surfaceEvents.finish() }

    /// Shows a frame and resizes the surface if its dimensions follow the frames.
    public func show(_ frame: VideoFrame) {
        let dimensions = state.withLock { state in
            state.frame = frame
            state.statistics.framesShown += 1
            resize(&state)
            return state.dimensions
        }
        surfaceEvents.notify(.resized(dimensions))
    }

    /// The arrangement of frames on the surface. A change may resize the surface.
    public var arrangement: FrameArrangement {
        get { state.withLock { $0.arrangement } }
        set {
            let dimensions = state.withLock { state in
                state.arrangement = newValue
                resize(&state)
                return state.dimensions
            }
            surfaceEvents.notify(.resized(dimensions))
        }
    }

    /// The counters of the surface.
    public var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    /// The events of the surface, such as changes of its size.
    public var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// The size in pixels.
    public var dimensions: Dimensions { state.withLock { $0.dimensions } }

    /// The newest frame, as it was decoded; nil before the first.
    public var frame: VideoFrame? { state.withLock { $0.frame } }

    /// Paints the newest frame as a window of this size shows it: by the aspect mode, mirrored and rotated, on black.
    ///
    /// - Returns: The pixels in the format BGRA; nil before the first frame.
    public func image() -> PixelBuffer? {
        let (frame, arrangement, size) = state.withLock { ($0.frame, $0.arrangement, $0.dimensions) }
        guard let frame else { return nil }
        let placement = arrangement.placement(frame.dimensions, on: size)
        var pixels = PixelBuffer(
            format: .bgra, dimensions: size, bytes: [UInt8](repeating: 0, count: size.width * size.height * 4))
        let stride = pixels.stride
        pixels.bytes.withUnsafeMutableBufferPointer { bytes in
            guard let canvas = bytes.baseAddress else { return }
            FramePainter().paint(
                frame, part: placement.part, mirrored: arrangement.mirroring, turned: arrangement.rotation,
                at: placement.target, of: canvas, stride: stride)
        }
        return pixels
    }

    private func resize(_ state: inout State) {
        guard !hasFixedDimensions, let size = state.frame?.dimensions else { return }
        state.dimensions =
            state.arrangement.rotation.exchangesSides ? Dimensions(width: size.height, height: size.width) : size
    }
}

/// The statistics of a surface.
public struct SurfaceStatistics: Sendable, Equatable {
    /// The number of frames that were drawn.
    public var framesShown = 0

    /// The number of frames that were dropped, because a newer one came before the display's next refresh or before the
    /// surface could draw.
    public var framesLeftOut = 0

    /// The time from when the last frame was passed to the surface until it was drawn; zero before the first.
    public var delay = Duration.zero

    /// Creates statistics with zeros.
    public init() {}
}

/// A destination for frames: a window, a terminal, or an application's own surface.
///
/// A surface can be lost, e.g., if the user closes the window, and become ready again. Frames in between are dropped.
public protocol RenderSurface: AnyObject, Sendable {
    /// Shows a frame until the next one. Only one thread may call it at a time. It must not block: it stores at most
    /// one frame that it has not drawn, and counts the frames that it drops.
    func show(_ frame: VideoFrame)

    /// The arrangement of frames. A change applies to the current frame at once.
    var arrangement: FrameArrangement { get set }

    /// The statistics of the surface.
    var statistics: SurfaceStatistics { get }

    /// The events of the surface from now on, starting with `ready` if it is ready. At most 64 events are buffered. The
    /// stream ends with the surface.
    var events: AsyncStream<SurfaceEvent> { get }
}

package import PCastCore
import PCastIO
import Synchronization

/// Captures an X11 screen, one of its monitors or a window, with the pointer, at a constant frame rate.
///
/// A window is captured by itself, even if it is covered. When it is resized, its frames have the new size, and so have
/// those of a screen whose resolution changes. While a window is not visible, its last frame is repeated, so that new
/// subscribers receive one. A closed window is `.ended`; a server or a monitor that disappears is `.vanished`.
///
/// Images are transferred through shared memory, or through the socket from another machine. The capture time of a
/// frame is the time of its request. If capturing or the consumer takes longer than a frame interval, the next frames
/// are skipped and counted.
///
/// On a Wayland desktop, the X server (Xwayland) contains only the windows of X programs. They can be captured, but the
/// screen as a whole is black. `PortalScreenSource` captures such a desktop.
package final class ScreenSource: VideoSource {
    /// The captured area.
    package let specification: ScreenSpecification
    /// The frame rate in frames per second.
    package let nominalFrameRate: Double
    private let frameRate: FrameRate
    private let grabber: ScreenGrabber
    private let pace = PacedThread()
    private let status: ScreenStatus

    /// Connects to the server and finds the area. It blocks until the server has answered.
    ///
    /// - Parameters:
    ///   - specification: The area to capture.
    ///   - frameRate: The frame rate, up to 240.
    ///   - showsPointer: Whether the pointer is drawn.
    /// - Throws: `DeviceError`: `.notFound` without the server, monitor or window, `.forbidden` if the server requires
    ///   a cookie, `.unusable` for an invalid display, or `.faulty` if the pixel format is not supported.
    package init(
        _ specification: ScreenSpecification, frameRate: FrameRate = FrameRate(30), showsPointer: Bool = true
    ) throws(DeviceError) {
        precondition(frameRate <= FrameRate(240), "the frame rate must be valid")
        self.specification = specification
        self.frameRate = frameRate
        nominalFrameRate = frameRate.perSecond
        grabber = try ScreenGrabber(specification, showsPointer: showsPointer)
        status = ScreenStatus(dimensions: grabber.dimensions)
    }

    deinit { stop() }

    /// The size of the frames, which can change.
    package var dimensions: Dimensions { status.values.withLock { $0.dimensions } }

    /// The number of frames that were skipped because capturing or the consumer was late.
    package var leftOutCount: Int64 { status.values.withLock { $0.leftOut } }

    /// Starts capturing. `deliver` receives frames and `ended` the end of the source. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let reference = MonotonicClock.reference()
        let capture = ScreenCapture(grabber: grabber, status: status, reference: reference)
        let rate = ClockRate(hertz: Int64(frameRate.numerator))
        let denominator = Int64(frameRate.denominator)
        // A slight delay of the thread does not skip a frame.
        let timeout = max(rate.span(ofTicks: denominator), .milliseconds(10))
        try pace.start(
            name: "screen", from: reference.instant, due: { rate.span(ofTicks: $0 * denominator) }, timeout: timeout
        ) { [weak pace] frameIndex, _ in
            guard let end = capture.run(frameIndex, deliver) else { return }
            pace?.stop()
            ended(end)
        }
    }

    /// Stops capturing.
    package func stop() {
        status.values.withLock { $0.isStopped = true }
        // A server that no longer responds must not block the caller.
        grabber.interrupt()
        pace.stop()
    }
}

/// The state that a source's thread publishes.
final class ScreenStatus: Sendable {
    struct Values {
        var dimensions: Dimensions
        var leftOut: Int64 = 0
        var isStopped = false
    }

    let values: Mutex<Values>

    init(dimensions: Dimensions) { values = Mutex(Values(dimensions: dimensions)) }
}

/// The loop of a screen source's thread and its state.
final class ScreenCapture: @unchecked Sendable {
    private let grabber: ScreenGrabber
    private let status: ScreenStatus
    private let reference: WallClockReference
    private var next: Int64 = 0
    private var isOver = false

    /// The last delivered frame, which is repeated while a window is not visible.
    private var last: VideoFrame?

    init(grabber: ScreenGrabber, status: ScreenStatus, reference: WallClockReference) {
        self.grabber = grabber
        self.status = status
        self.reference = reference
    }

    /// Captures one frame. Returns the end of the source, once; nil while it continues or if it was stopped.
    func run(_ frameIndex: Int64, _ deliver: (VideoSample) -> Void) -> SourceEnd? {
        guard !isOver else { return nil }
        if next == 0 { BrokenPipe.blockOnThisThread() }
        let missed = frameIndex - next
        next = frameIndex + 1
        let elapsed = MonotonicClock.now() - reference.instant
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: elapsed), rate: .video)
        let captureTime = reference.wallTime + elapsed
        let grab = grabber.grab(captureTime: captureTime, timestamp: timestamp)
        let dimensions = grabber.dimensions
        let isStopped = status.values.withLock { values in
            values.leftOut += missed
            values.dimensions = dimensions
            return values.isStopped
        }
        guard !isStopped else { return nil }
        switch grab {
        case .frame(let frame):
            last = frame
            deliver(.frame(frame))
            return nil
        case .hidden:
            if let last { deliver(.frame(last.retimed(captureTime: captureTime, timestamp: timestamp))) }
            return nil
        case .closed: return end(.ended)
        case .vanished(let reason): return end(.vanished(reason))
        case .failed(let reason): return end(.failed(reason))
        }
    }

    private func end(_ end: SourceEnd) -> SourceEnd {
        isOver = true
        return end
    }
}

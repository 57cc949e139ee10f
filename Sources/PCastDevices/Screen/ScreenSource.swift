import PCastIO
public import PCastMedia
import Synchronization

/// The picture of an X11 screen, of one of its monitors or of a window, with the pointer, at an even rate.
///
/// A window is taken by itself, whatever covers it, and follows when it is moved or resized: its pictures then have the
/// new size, as a screen's have when that is set to another. While a window is not shown, its last picture is delivered
/// on, so that whoever comes to watch sees something. A closed window is `.ended`; a server or a monitor that goes away
/// is `.vanished`.
///
/// Grabbing reads what the server draws, through memory shared with it, or through the socket where it is on another
/// machine. A picture's capture time is the moment at which it was asked for. When a grab or its consumer takes longer
/// than a picture lasts, the next ones are left out and counted.
///
/// On a Wayland desktop the X server (Xwayland) knows nothing but the windows of X programs: they can be captured, and
/// the screen as a whole is black.
public final class ScreenSource: VideoSource {
    public let specification: ScreenSpecification
    public let nominalFrameRate: Double
    private let frameRate: FrameRate
    private let grabber: ScreenGrabber
    private let pace = PacedThread()
    private let status: ScreenStatus

    /// Connects to the server and finds what is to be grabbed; blocks as long as that takes.
    ///
    /// - Parameters:
    ///   - frameRate: pictures a second, up to 240.
    ///   - showsPointer: whether the pointer is drawn in.
    /// - Throws: `.notFound` when there is no server, monitor or window, `.forbidden` when the server wants a cookie,
    ///   `.unusable` for a display that cannot be, `.faulty` when its pixels cannot be read.
    public init(
        _ specification: ScreenSpecification, frameRate: FrameRate = FrameRate(30), showsPointer: Bool = true
    ) throws(DeviceError) {
        precondition(frameRate <= FrameRate(240), "a frame rate that no one can watch")
        self.specification = specification
        self.frameRate = frameRate
        nominalFrameRate = frameRate.perSecond
        grabber = try ScreenGrabber(specification, showsPointer: showsPointer)
        status = ScreenStatus(dimensions: grabber.dimensions)
    }

    deinit { stop() }

    public var dimensions: Dimensions { status.values.withLock { $0.dimensions } }

    /// Pictures that were left out because grabbing them, or whoever takes them, was late.
    public var leftOutCount: Int64 { status.values.withLock { $0.leftOut } }

    public func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let reference = MonotonicClock.reference()
        let capture = ScreenCapture(grabber: grabber, status: status, reference: reference)
        let rate = ClockRate(hertz: Int64(frameRate.numerator))
        let denominator = Int64(frameRate.denominator)
        // A thread may be woken a little late; that is no picture lost.
        let patience = max(rate.span(ofTicks: denominator), .milliseconds(10))
        try pace.start(
            name: "screen", from: reference.instant, due: { rate.span(ofTicks: $0 * denominator) }, patience: patience
        ) { [weak pace] beat, _ in
            guard let end = capture.run(beat, deliver) else { return }
            pace?.stop()
            ended(end)
        }
    }

    public func stop() {
        status.values.withLock { $0.isStopped = true }
        // A server that does not answer any more must not hold whoever stops.
        grabber.interrupt()
        pace.stop()
    }
}

/// What a source's thread tells to others.
final class ScreenStatus: Sendable {
    struct Values {
        var dimensions: Dimensions
        var leftOut: Int64 = 0
        var isStopped = false
    }

    let values: Mutex<Values>

    init(dimensions: Dimensions) { values = Mutex(Values(dimensions: dimensions)) }
}

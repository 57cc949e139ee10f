package import PCastCore
import PCastIO

/// Captures a monitor or a window of a Wayland desktop through the desktop portal and PipeWire.
///
/// The compositor delivers a frame when the screen changes. It is delivered at once, but no more often than the frame
/// rate. While nothing changes, the last frame is repeated ten times per second, so that new subscribers receive one.
/// Some compositors send no frame until the screen changes; frames are black until then. When the screen is resized,
/// its frames have the new size. A compositor or a portal that disappears is `.vanished`.
package final class PortalScreenSource: VideoSource {
    /// The state that the threads of PipeWire and of the source share.
    struct Slot {
        var frame: VideoFrame?
        var dimensions: Dimensions
        var leftOut: Int64 = 0
        var isStreaming = false
        var end: String?
        var isStopped = false
        var worker: WorkerThread?
    }

    /// The captured area.
    package let specification: PortalSpecification
    /// The frame rate in frames per second.
    package let nominalFrameRate: Double
    private let frameRate: FrameRate
    /// The session; nil if the user has refused or ended the capture, for the reason in `refusal`.
    private let session: PortalSession?
    private let refusal: ScreenCastPortal.Failure?
    private let slot: Monitor<Slot>

    /// Uses the session that `PortalScreens.find` opened. If there is none, because the desktop ended it, another one
    /// is requested, and `.faulty` is thrown until the portal has responded. A user who refuses or ends the capture ends
    /// the source as `.failed`, so that it is not restored against the user's will.
    ///
    /// - Parameters:
    ///   - specification: The area to capture.
    ///   - frameRate: The highest frame rate, up to 240.
    /// - Throws: `DeviceError.faulty` or `.noThread`.
    package init(_ specification: PortalSpecification, frameRate: FrameRate = FrameRate(30)) throws(DeviceError) {
        precondition(frameRate <= FrameRate(240), "the frame rate must be valid")
        self.specification = specification
        self.frameRate = frameRate
        nominalFrameRate = frameRate.perSecond
        let session = try PortalSession.shared(specification)
        switch session.phase {
        case .open(let stream):
            (self.session, refusal) = (session, nil)
            slot = Monitor(Slot(dimensions: stream.dimensions ?? PortalScreens.standardDimensions))
        case .over(let failure) where failure.isFinal:
            session.forget()
            (self.session, refusal) = (nil, failure)
            slot = Monitor(Slot(dimensions: PortalScreens.standardDimensions))
        case .over(let failure):
            session.forget()
            throw failure.error
        case .pending: throw .faulty("the screen", reason: "the desktop portal has not responded yet.")
        }
    }

    deinit { stop() }

    /// The size of the frames, which can change.
    package var dimensions: Dimensions { slot.withLock { slot, _ in ScreenGrabber.even(slot.dimensions) } }

    /// The number of frames that were skipped because they arrived faster than the frame rate, or the consumer was late.
    package var leftOutCount: Int64 { slot.withLock { slot, _ in slot.leftOut } }

    /// Starts capturing. `deliver` receives frames and `ended` the end of the source. Throws `DeviceError`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let reference = MonotonicClock.reference()
        let (slot, session, refusal, frameRate) = (slot, session, refusal, frameRate)
        let stream = try session.map { session throws(DeviceError) in
            try Self.stream(session, slot, frameRate: frameRate, reference: reference)
        }
        let worker: WorkerThread
        do throws(IOError) {
            worker = try WorkerThread(name: "screen", precedence: .media) {
                let end =
                    if let session {
                        Self.run(slot, session, frameRate, reference, deliver)
                    } else {
                        refusal.map { SourceEnd.failed("\($0.error)") }
                    }
                stream?.close()
                session?.release()
                if let end { ended(end) }
            }
        } catch {
            stream?.close()
            session?.release()
            throw .noThread("\(error)")
        }
        slot.withLock { slot, _ in slot.worker = worker }
    }

    /// Stops capturing.
    package func stop() {
        let worker = slot.withLock { slot, condition in
            slot.isStopped = true
            condition.wakeAll()
            return slot.worker
        }
        worker?.join()
    }

    private static func stream(
        _ session: PortalSession, _ slot: Monitor<Slot>, frameRate: FrameRate, reference: WallClockReference
    ) throws(DeviceError) -> PipeWireVideoStream {
        let (stream, descriptor) = try session.acquire()
        do throws(DeviceError) {
            let connection = try PipeWireConnection("the screen", descriptor: descriptor)
            let offer = PipeWireVideoFormat.offer(
                frameRate: ScreenPacing.requestedRate(frameRate),
                dimensions: stream.dimensions ?? PortalScreens.standardDimensions)
            return try PipeWireVideoStream(
                .screen(stream.node), connection, offer: offer, reference: reference,
                receive: { frame in
                    slot.withLock { slot, condition in
                        if slot.frame != nil { slot.leftOut += 1 }
                        slot.frame = frame
                        slot.dimensions = frame.dimensions
                        condition.wakeAll()
                    }
                },
                changed: { change in
                    slot.withLock { slot, condition in
                        switch change {
                        case .streaming: slot.isStreaming = true
                        case .paused: slot.isStreaming = false
                        case .over(let reason): slot.end = slot.end ?? reason
                        }
                        condition.wakeAll()
                    }
                })
        } catch {
            session.release()
            throw error
        }
    }

    // MARK: The thread

    /// The time in which the end of the session follows that of the stream.
    private static let closingTimeout = TimeSpan.milliseconds(500)

    private enum Step {
        case frame(VideoFrame)
        case end(String)
        case stopped
    }

    /// Delivers frames until the source is stopped (nil) or ends.
    private static func run(
        _ slot: Monitor<Slot>, _ session: PortalSession, _ frameRate: FrameRate, _ reference: WallClockReference,
        _ deliver: (VideoSample) -> Void
    ) -> SourceEnd? {
        var pacing = ScreenPacing(frameRate: frameRate, started: MonotonicClock.now())
        var last: VideoFrame?
        while true {
            let hasFrame = slot.withLock { slot, _ in slot.frame != nil }
            // It returns early for a frame that may be delivered, for the end and for `stop`.
            let step: Step? = slot.wait(until: pacing.wakeUp(hasFrame: hasFrame)) { slot in
                if slot.isStopped { return .stopped }
                if let reason = slot.end { return .end(reason) }
                guard let frame = slot.frame, pacing.accepts(at: MonotonicClock.now()) else { return nil }
                slot.frame = nil
                return .frame(frame)
            }
            switch step {
            case .stopped: return nil
            case .end(let reason): return end(session, because: reason)
            case .frame(let frame):
                last = frame
                pacing.delivered(at: MonotonicClock.now())
                deliver(.frame(frame))
            case nil:
                if case .over(let failure) = session.phase { return end(session, because: "\(failure.error)") }
                let isStreaming = slot.withLock { slot, _ in slot.isStreaming }
                if let reason = pacing.timeout(isStreaming: isStreaming, at: MonotonicClock.now()) {
                    return end(session, because: reason)
                }
                guard pacing.repeats(at: MonotonicClock.now()) else { continue }
                let elapsed = MonotonicClock.now() - reference.instant
                pacing.delivered(at: MonotonicClock.now(), isRepeated: true)
                let dimensions = slot.withLock { slot, _ in slot.dimensions }
                let repeated = last ?? BlackFrame.frame(ScreenGrabber.even(dimensions))
                last = repeated
                deliver(
                    .frame(
                        repeated.retimed(
                            captureTime: reference.wallTime + elapsed,
                            timestamp: MediaTime(ticks: ClockRate.video.ticks(in: elapsed), rate: .video))))
            }
        }
    }

    /// Returns the end of the source after that of its stream or session.
    private static func end(_ session: PortalSession, because reason: String) -> SourceEnd {
        let failure = session.end(within: closingTimeout)
        session.forget()
        if let failure, failure.isFinal { return .failed("\(failure.error)") }
        return .vanished("the capture of the screen ended: \(reason)")
    }
}

/// The times at which frames of a screen are delivered, which arrive when the screen changes.
struct ScreenPacing {
    /// The interval at which the last frame is repeated while nothing changes, unless the frame rate is lower.
    static let shortestRepeatInterval = TimeSpan.milliseconds(100)

    /// The time after which a stream that is paused has ended. A new stream starts within it.
    static let pauseTimeout = TimeSpan.seconds(5)

    /// Returns the rate that the compositor may deliver at most. Compositors delay frames to the next refresh of the screen
    /// after the interval of this rate, so that some refreshes would be missed at the frame rate itself.
    static func requestedRate(_ frameRate: FrameRate) -> FrameRate {
        FrameRate(frameRate.numerator * 3, frameRate.denominator * 2)
    }

    private let interval: TimeSpan
    private let repeatInterval: TimeSpan
    /// The time from which the next frame is due; an earlier one is kept until then, or replaced by a newer one.
    private var due: Instant
    private var lastDelivery: Instant
    private var streamedAt: Instant

    init(frameRate: FrameRate, started: Instant) {
        interval = ClockRate(hertz: Int64(frameRate.numerator)).span(ofTicks: Int64(frameRate.denominator))
        repeatInterval = max(interval, Self.shortestRepeatInterval)
        (due, lastDelivery, streamedAt) = (started, started, started)
    }

    /// Returns whether a frame that arrives or waits is delivered now. A frame may be early by a quarter of the
    /// interval, because those of a compositor at the same rate do not arrive evenly.
    func accepts(at now: Instant) -> Bool { now >= due - interval / 4 }

    /// Records a delivery.
    mutating func delivered(at now: Instant, isRepeated: Bool = false) {
        lastDelivery = now
        if !isRepeated { due = max(due + interval, now) }
    }

    /// Returns whether the last frame is repeated now.
    func repeats(at now: Instant) -> Bool { now - lastDelivery >= repeatInterval }

    /// Returns the time at which there is something to do without a new frame.
    func wakeUp(hasFrame: Bool) -> Instant {
        let next = lastDelivery + repeatInterval
        return hasFrame ? min(due, next) : next
    }

    /// Returns the reason for which the stream is over; nil while it streams or may start.
    mutating func timeout(isStreaming: Bool, at now: Instant) -> String? {
        if isStreaming { streamedAt = now }
        return now - streamedAt > Self.pauseTimeout ? "the desktop stopped the capture of the screen" : nil
    }
}

import CV4L2
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// The streaming loop of a camera, on its own thread: wait, dequeue, convert, deliver, and requeue the buffer.
///
/// The driver drops frames when it has no free buffer, and queues filled ones. Of several queued raw frames, at most
/// the newest two are delivered, as many as an encoder's queue holds; older ones would be dropped there. Encoded frames
/// are all delivered, because each depends on the previous one.
///
/// It is `@unchecked Sendable` because only the caller of `begin` and then the camera's thread use it, except for
/// `wake` and `record`.
final class CameraStream: @unchecked Sendable {
    typealias Deliver = @Sendable (VideoSample) -> Void

    /// The most queued raw frames that are delivered.
    private static let kept = 2
    /// The timeout after which the camera's presence is checked, in milliseconds. Not every driver reports it to a
    /// waiting thread.
    private static let timeout: Int32 = 250
    private let node: VideoNode
    private let name: String
    private let buffers: CaptureBuffers
    private let capturedFrames: CapturedFrames
    private let controls: CameraControls
    private let wake: WakeDescriptor
    let record: CameraRecord

    private var clock = CameraClock()
    private var sequence = CaptureSequence()
    private var origin: Instant?
    private var reference = MonotonicClock.reference()
    /// The time of the last dequeue.
    private var asked = MonotonicClock.now()
    private var silence: CaptureStallDetector
    /// Whether an encoded frame is missing and no key frame came since.
    private var isBroken = false

    init(
        _ node: VideoNode, name: String, format: NegotiatedFormat, buffers: CaptureBuffers, controls: CameraControls,
        passesThrough: Bool
    ) throws(DeviceError) {
        do {
            capturedFrames = try CapturedFrames(format, passesThrough: passesThrough)
        } catch {
            throw .faulty(name, reason: "\(error)")
        }
        do {
            wake = try WakeDescriptor()
        } catch {
            throw .faulty(name, reason: "\(error)")
        }
        self.node = node
        self.name = name
        self.buffers = buffers
        self.controls = controls
        silence = CaptureStallDetector(frameRate: format.frameRate, at: reference.instant)
        record = CameraRecord(dimensions: capturedFrames.dimensions)
    }

    var areDecoded: Bool { capturedFrames.areDecoded }

    /// Starts streaming. Some drivers report only here that the camera is busy. Throws `DriverError`.
    func begin() throws(DriverError) {
        try buffers.start()
        reference = MonotonicClock.reference()
        asked = reference.instant
        silence.begin(at: asked)
    }

    /// Stops streaming.
    func finish() { buffers.stop() }

    /// Ends `run`. It can be called from any thread.
    func stop() { wake.signal() }

    /// Delivers frames until it is stopped (nil) or the camera ends.
    func run(_ deliver: Deliver) -> SourceEnd? {
        while true {
            var waits = [
                pollfd(fd: node.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&waits, 2, Self.timeout)
            if waits[1].revents != 0 { return nil }
            if count < 0, errno != EINTR { return .failed("waiting for \(name) failed: \(DriverError.text(errno))") }
            let wasRestarted = silence.isRestarted
            if let end = take(deliver) ?? checkStall() { return end }
            // A driver in an error state reports an event at every poll, and may return no other error.
            let isFailing = waits[0].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
            if isFailing, silence.isRestarted == wasRestarted, let end = recover() { return end }
            controls.advance(at: MonotonicClock.now())
        }
    }

    /// Dequeues the available frames, delivers them, and requeues their buffers.
    private func take(_ deliver: Deliver) -> SourceEnd? {
        let idle = MonotonicClock.now() - asked
        var frames: [cv4l2_frame] = []
        var frame = cv4l2_frame()
        var error = cv4l2_dequeue(node.descriptor, node.isMultiplanar, &frame)
        while error == 0, frames.count < Int(CaptureBuffers.wanted) * 2 {
            frames.append(frame)
            error = cv4l2_dequeue(node.descriptor, node.isMultiplanar, &frame)
        }
        asked = MonotonicClock.now()
        let passed = capturedFrames.areIndependent ? max(0, frames.count - Self.kept) : 0
        for (index, frame) in frames.enumerated() {
            count(frame)
            if index < passed {
                record.change { $0.statistics.dropped += 1 }
            } else {
                read(frame, capturedAt: asked, idle: idle, deliver)
            }
            let error = buffers.queue(frame.index)
            if error != 0 { return ended(by: DriverError("QBUF", error)) }
        }
        return error == 0 || error == EAGAIN ? nil : ended(by: DriverError("DQBUF", error))
    }

    private func count(_ frame: cv4l2_frame) {
        let lost = sequence.gap(before: frame.sequence)
        guard lost > 0 else { return }
        if !capturedFrames.areIndependent { breakChain() }
        record.change { $0.statistics.dropped += lost }
    }

    private func read(_ frame: cv4l2_frame, capturedAt: Instant, idle: TimeSpan, _ deliver: Deliver) {
        let isMonotonic =
            frame.flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK) == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        let (time, isRetimed) = clock.time(
            stamp: isMonotonic ? Instant(nanoseconds: frame.nanoseconds) : nil, capturedAt: capturedAt, idle: idle)
        let origin = origin ?? time
        self.origin = origin
        guard frame.flags & UInt32(V4L2_BUF_FLAG_ERROR) == 0, let bytes = buffers.bytes(of: frame) else {
            return damage()
        }
        do {
            let samples = try capturedFrames.samples(
                of: bytes, isBroken: isBroken, captureTime: reference.wallTime(at: time),
                timestamp: MediaTime(ticks: ClockRate.video.ticks(in: time - origin), rate: .video))
            if !samples.isEmpty { isBroken = false }
            publish(samples, isRetimed: isRetimed)
            for sample in samples {
                deliver(sample)
                if case .frame(let videoFrame) = sample { controls.meter(videoFrame, at: capturedAt) }
            }
            guard !samples.isEmpty else { return }
            silence.end(at: capturedAt)
        } catch {
            damage()
        }
    }

    private func publish(_ samples: [VideoSample], isRetimed: Bool) {
        record.change { entries in
            entries.statistics.captured += samples.count
            if isRetimed, !samples.isEmpty { entries.statistics.retimed += 1 }
            entries.dimensions = capturedFrames.dimensions
            entries.transcodeReason = capturedFrames.transcodeReason
        }
    }

    private func damage() {
        record.change { $0.statistics.damaged += 1 }
        if !capturedFrames.areIndependent { breakChain() }
    }

    private func breakChain() {
        guard !isBroken else { return }
        isBroken = true
        _ = controls.requestKeyFrame()
    }

    // MARK: Errors

    private func ended(by error: DriverError) -> SourceEnd? {
        if error.isAbsence || !node.isThere { return .vanished("\(name) was unplugged") }
        return restart(because: "\(error.call) failed: \(DriverError.text(error.number))")
    }

    private func checkStall() -> SourceEnd? {
        let now = MonotonicClock.now()
        // Not every driver wakes the thread when a camera is unplugged.
        if silence.length(at: now) > .milliseconds(Int64(Self.timeout)), !node.isThere {
            return .vanished("\(name) was unplugged")
        }
        return silence.isTooLong(at: now) ? restart(because: "it delivers no frames") : nil
    }

    /// Handles an error that poll reported without an error from dequeuing.
    private func recover() -> SourceEnd? {
        node.isThere ? restart(because: "its driver reports an error") : .vanished("\(name) was unplugged")
    }

    /// Restarts streaming, at most once until a frame arrives.
    private func restart(because reason: String) -> SourceEnd? {
        guard !silence.isRestarted else { return .failed("\(name) does not work: \(reason)") }
        if !capturedFrames.areIndependent { breakChain() }
        buffers.stop()
        sequence.restart()
        do {
            try buffers.start()
        } catch {
            if error.isAbsence || !node.isThere { return .vanished("\(name) was unplugged") }
            return .failed(
                "\(name) does not work: \(reason), and \(error.call) failed: \(DriverError.text(error.number))")
        }
        record.change { $0.statistics.restarted += 1 }
        asked = MonotonicClock.now()
        silence.restart(at: asked)
        return nil
    }
}

/// Detects lost frames by the driver's sequence numbers.
struct CaptureSequence {
    /// The largest gap. A larger one is a counter that was reset.
    private static let limit: UInt32 = 1_000

    private var last: UInt32?

    /// Returns the number of frames that are missing before this one.
    mutating func gap(before number: UInt32) -> Int {
        defer { last = number }
        guard let last else { return 0 }
        let step = number &- last
        // Some drivers give every frame the same number.
        return (2...Self.limit).contains(step) ? Int(step) - 1 : 0
    }

    /// Resets the detection before streaming restarts.
    mutating func restart() { last = nil }
}

/// Computes capture times from the driver's timestamps if they are plausible.
///
/// A driver's timestamp is CLOCK_MONOTONIC at the start of exposure or at the end of the frame. The time between both
/// is unknown, so they are used as they are.
struct CameraClock {
    /// The largest plausible distance of a timestamp from the current time.
    private static let maximumDistance = TimeSpan.seconds(1)

    private var lastStamp: Instant?
    private var last: Instant?

    /// Computes the capture time of a frame.
    ///
    /// - Parameters:
    ///   - stamp: The driver's timestamp; nil if it uses another clock.
    ///   - capturedAt: The time at which the frame was dequeued.
    ///   - idle: The time since the previous dequeue, for which the frame may have been queued.
    /// - Returns: The capture time, which is later than the previous one, and whether an implausible timestamp was
    ///   replaced.
    mutating func time(stamp: Instant?, capturedAt: Instant, idle: TimeSpan) -> (time: Instant, isRetimed: Bool) {
        let isPossible = stamp.map { stamp in
            stamp - capturedAt <= Self.maximumDistance && capturedAt - stamp <= Self.maximumDistance + idle
                && lastStamp.map { stamp > $0 } ?? true
        }
        if isPossible == true { lastStamp = stamp }
        // Some drivers deliver a frame before the end that its timestamp states.
        var time = isPossible == true ? min(stamp!, capturedAt) : capturedAt
        if let last, time <= last { time = last + .microseconds(1) }
        last = time
        return (time, isPossible == false)
    }
}

/// Detects cameras that have stopped delivering frames.
///
/// The longest exposure of webcams is half a second, so two seconds without a frame are an error. Streaming is then
/// restarted, which recovers many USB cameras. If no frame arrives after that, the camera has failed.
struct CaptureStallDetector {
    private static let typical = TimeSpan.seconds(2)
    /// The timeout for the first frame. Some cameras take seconds to start.
    private static let first = TimeSpan.seconds(5)
    /// The timeout in frame intervals, for cameras with a low frame rate.
    private static let frames = 5.0

    private let limit: TimeSpan
    private var last: Instant
    private var hasSlice = false

    /// Whether streaming was restarted and no frame has arrived since.
    private(set) var isRestarted = false

    /// Creates a detector. `now` is the time at which streaming starts.
    init(frameRate: FrameRate, at now: Instant) {
        limit = max(Self.typical, TimeSpan(seconds: Self.frames / frameRate.perSecond))
        last = now
    }

    mutating func begin(at now: Instant) { last = now }

    mutating func restart(at now: Instant) {
        last = now
        isRestarted = true
    }

    mutating func end(at now: Instant) {
        last = now
        hasSlice = true
        isRestarted = false
    }

    func length(at now: Instant) -> TimeSpan { now - last }

    func isTooLong(at now: Instant) -> Bool {
        length(at: now) > (hasSlice || isRestarted ? limit : max(Self.first, limit))
    }
}

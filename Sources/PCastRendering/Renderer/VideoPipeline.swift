import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// The video part of a renderer: a queue of encoded or raw frames, a decoding thread, and the presentation.
final class VideoPipeline: Sendable {
    private enum Entry: Sendable {
        case encoded(EncodedFrame)
        case raw(VideoFrame)
        /// A frame that is due already.
        case due(VideoFrame)
    }

    /// The most raw frames that are queued.
    private static let frameCapacity = 2

    /// The size of the queue: two seconds at 60 frames per second, as many as a new viewer receives at once. Frames
    /// beyond that could not be decoded in time.
    private static let capacity = 128

    private let queue = FrameQueue<Entry>(capacity: VideoPipeline.capacity)
    private let gate = Mutex(KeyFrameGate())
    private let catchUp = Mutex(CatchUp())
    private let shared: SharedRendererState
    private let screen: VideoScreen
    private let presenter: FramePresenter?
    private let onKeyFrameNeeded: (@Sendable () -> Void)?
    private let thread = Mutex<WorkerThread?>(nil)
    /// Ends when the decoding thread has ended.
    private let decoding = CancellableSleep()

    init(
        shared: SharedRendererState, callbacks: RendererCallbacks, options: StreamRendererOptions
    ) throws(IOError) {
        self.shared = shared
        onKeyFrameNeeded = callbacks.onKeyFrameNeeded
        let screen = VideoScreen(shared: shared, callbacks: callbacks, options: options)
        self.screen = screen
        presenter =
            options.synchronization == .immediate
            ? nil
            : try FramePresenter(screen: screen) { shared.withLock { $0.meter.counts.framesDropped += 1 } }
        let worker = try WorkerThread(name: "decode-video", precedence: .media) { [self] in
            run()
            decoding.cancel()
        }
        thread.withLock { $0 = worker }
    }

    /// Adds an encoded frame. It never blocks. If the queue is full, it is emptied, because frames after a lost one
    /// cannot be decoded.
    func push(_ frame: EncodedFrame) {
        let isAdmitted = gate.withLock { $0.admits(frame) }
        if frame.isKeyFrame, !catchUp.withLock({ $0.isOver }) {
            // The queued frames are older, and the decoder does not need them after a key frame.
            let skipped = queue.count
            queue.removeAll()
            skip(skipped)
        }
        if isAdmitted, queue.push(.encoded(frame)) == nil { return }
        if isAdmitted, !queue.isClosed {
            let lost = queue.count
            queue.removeAll()
            breakChain(losing: lost + 1)
        } else {
            breakChain(losing: 1)
        }
    }

    /// Adds a raw frame. It never blocks; the oldest frame is dropped if the queue is full.
    func push(_ videoFrame: VideoFrame) { push(unencoded: .raw(videoFrame)) }

    /// Adds a frame that is presented at once. It never blocks; the oldest frame is dropped if the queue is full.
    func show(_ videoFrame: VideoFrame) { push(unencoded: .due(videoFrame)) }

    private func push(unencoded entry: Entry) {
        if queue.count >= Self.frameCapacity, queue.popIfAny() != nil { drop(1) }
        queue.push(entry)
    }

    /// Discards the queued frames. Encoded frames are decoded again from the next key frame on, like those of a new
    /// viewer.
    func restart() {
        queue.removeAll()
        gate.withLock { $0 = KeyFrameGate() }
        catchUp.withLock { $0 = CatchUp() }
    }

    /// Accepts no more frames. Those that are queued are still presented.
    func close() { queue.close() }

    /// Waits until all frames have been presented, at most until `deadline`, and stops.
    func finish(by deadline: Instant) {
        queue.close()
        _ = decoding.sleep(until: deadline)
        presenter?.finish(by: deadline)
        stop()
    }

    func stop() {
        queue.removeAll()
        queue.close()
        thread.withLock { $0 }?.join()
        presenter?.stop()
    }

    private func run() {
        var decoder: VideoDecoderByCodec?
        let converter = RawFrameConverter()
        var isBroken = false
        while let entry = queue.pop() {
            let frame: EncodedFrame
            switch entry {
            case .encoded(let encoded): frame = encoded
            case .raw(let videoFrame):
                take(videoFrame, isCoded: false, by: converter)
                continue
            case .due(let videoFrame):
                if let offered = offer(videoFrame, by: converter) { present(offered, at: MonotonicClock.now()) }
                continue
            }
            // Frames after one that could not be decoded cannot be decoded, either.
            if isBroken, !frame.isKeyFrame {
                drop(1)
                continue
            }
            do {
                if decoder?.codec != frame.codec { decoder = try VideoDecoderByCodec(frame.codec) }
                for videoFrame in try decoder!.decode(frame) { take(videoFrame, isCoded: true, by: converter) }
                isBroken = false
            } catch {
                isBroken = true
                breakChain(losing: 1)
            }
        }
    }

    /// Offers a decoded frame to the application, then presents, skips or drops it. `isCoded` is whether it was
    /// received encoded.
    private func take(_ decoded: VideoFrame, isCoded: Bool, by converter: RawFrameConverter) {
        guard let videoFrame = offer(decoded, by: converter) else { return }
        let now = MonotonicClock.now()
        if isCoded {
            let hasNewer = queue.count > 0
            switch catchUp.withLock({ $0.decoded(timestamp: videoFrame.timestamp, hasNewer: hasNewer, at: now) }) {
            case .begin: return present(videoFrame, at: now)
            case .present: break
            case .skip: return skip(1)
            }
        }
        let decision = shared.withLock { state in
            state.synchronizer.scheduleFrame(
                captureTime: videoFrame.captureTime, timestamp: videoFrame.timestamp, at: now)
        }
        switch decision {
        case .late where queue.count > 0: drop(1)
        case .late: present(videoFrame, at: now)
        case .present(let due): present(videoFrame, at: due)
        }
    }

    /// Counts a decoded frame and calls the application's callback. Returns the frame to present; nil if it is dropped.
    private func offer(_ videoFrame: VideoFrame, by converter: RawFrameConverter) -> VideoFrame? {
        let onFrameReady = shared.withLock { state in
            state.meter.counts.framesDecoded += 1
            return state.onFrameReady
        }
        guard let callback = onFrameReady else { return videoFrame }
        let notification = FrameNotification(videoFrame, converter: converter)
        callback(notification)
        return notification.outcome
    }

    private func present(_ videoFrame: VideoFrame, at due: Instant) {
        guard let presenter else { return screen.show(videoFrame) }
        if !presenter.present(videoFrame, at: due) { drop(1) }
    }

    private func skip(_ count: Int) { shared.withLock { $0.meter.counts.startUpFramesSkipped += count } }

    private func drop(_ count: Int) { shared.withLock { $0.meter.counts.framesDropped += count } }

    /// Closes the gate after lost frames and requests a key frame.
    private func breakChain(losing count: Int) {
        drop(count)
        let asks = gate.withLock { gate in
            gate.close()
            return gate.asks(at: MonotonicClock.now())
        }
        if asks { onKeyFrameNeeded?() }
    }
}

/// A video decoder for the codec of the stream.
struct VideoDecoderByCodec {
    let codec: Codec
    private let decoder: any VideoDecoder

    init(_ codec: Codec) throws {
        self.codec = codec
        decoder = try VideoDecoders.open(codec)
    }

    func decode(_ frame: EncodedFrame) throws -> [VideoFrame] { try decoder.decode(frame) }
}

/// Withholds frames that cannot be decoded: after a lost frame, everything up to the next key frame. Decoding them
/// would show damaged images. It reads no clock; the caller passes the time.
struct KeyFrameGate {
    /// The interval of key-frame requests. A request may be lost, but one per frame would be too many.
    private static let requestInterval = TimeSpan.milliseconds(300)

    private var isWaiting = true
    private var lastRequest: Instant?

    /// Returns whether a frame can be decoded.
    mutating func admits(_ frame: EncodedFrame) -> Bool {
        if frame.isKeyFrame {
            isWaiting = false
            lastRequest = nil
        }
        return !isWaiting
    }

    /// Closes the gate after a frame was lost or could not be decoded, because later frames refer to it.
    mutating func close() { isWaiting = true }

    /// Returns whether to request a key frame now.
    mutating func asks(at now: Instant) -> Bool {
        guard isWaiting, lastRequest.map({ now - $0 >= Self.requestInterval }) ?? true else { return false }
        lastRequest = now
        return true
    }
}

/// Decides which frames of a replay are presented.
///
/// A new viewer receives the frames since an earlier key frame as fast as the link carries them. The first one is
/// presented at once. Of the following ones, only frames without a queued newer one are presented. The others are
/// decoded only because newer frames refer to them. The catch-up ends when frames no longer arrive faster than they
/// were captured.
struct CatchUp {
    /// The decrease of a frame's lag that shows that frames arrive faster than they were captured.
    private static let gain = TimeSpan.milliseconds(10)

    /// The longest catch-up. After that, all frames are presented: fast motion is better than a frozen frame.
    private static let longest = TimeSpan.milliseconds(500)

    private var first: Instant?
    private var lag = TimeSpan.zero

    /// Whether all frames are presented from now on.
    private(set) var isOver = false

    /// The decision about a decoded frame.
    enum Decision: Hashable {
        /// It is the first frame; present it at once.
        case begin
        /// Present it at its presentation time.
        case present
        /// Do not present it.
        case skip
    }

    /// Decides about a decoded frame. `hasNewer` is whether a newer frame is queued for decoding.
    mutating func decoded(timestamp: MediaTime, hasNewer: Bool, at now: Instant) -> Decision {
        guard !isOver else { return .present }
        let before = lag
        lag = TimeSpan.nanoseconds(now.nanoseconds) - timestamp.span
        guard let first else {
            first = now
            return .begin
        }
        isOver = now - first >= Self.longest || (!hasNewer && lag > before - Self.gain)
        return hasNewer && !isOver ? .skip : .present
    }
}

/// Presents decoded frames at their presentation time. It has its own thread, so that decoding continues meanwhile.
final class FramePresenter: Sendable {
    private struct Entry: Sendable {
        let frame: VideoFrame
        let due: Instant
    }

    /// The most frames that are queued, more than half a second. A longer wait is not lip sync.
    private static let capacity = 32

    /// The lateness at which a frame is dropped if the next one is queued.
    private static let timeout = TimeSpan.milliseconds(50)

    private let queue = FrameQueue<Entry>(capacity: FramePresenter.capacity)
    private let sleep = CancellableSleep()
    /// Ends when the thread has ended.
    private let presenting: CancellableSleep
    private let thread: WorkerThread

    /// Starts the thread. `dropped` is called for each frame that is dropped. Throws `IOError` if no thread can be
    /// created.
    init(screen: VideoScreen, dropped: @escaping @Sendable () -> Void) throws(IOError) {
        let (queue, sleep, presenting) = (queue, sleep, CancellableSleep())
        self.presenting = presenting
        thread = try WorkerThread(name: "present-video", precedence: .media) {
            defer { presenting.cancel() }
            while let entry = queue.pop() {
                guard sleep.sleep(until: entry.due) else { return }
                let lateness = MonotonicClock.now() - entry.due
                if lateness > Self.timeout, queue.count > 0 {
                    dropped()
                } else {
                    screen.show(entry.frame)
                }
            }
        }
    }

    /// Queues a frame. Returns false if an older frame was dropped for it.
    func present(_ frame: VideoFrame, at due: Instant) -> Bool {
        queue.push(Entry(frame: frame, due: due)) == nil
    }

    /// Waits until all frames have been presented, at most until `deadline`, and stops.
    func finish(by deadline: Instant) {
        queue.close()
        _ = presenting.sleep(until: deadline)
        stop()
    }

    func stop() {
        sleep.cancel()
        queue.close()
        thread.join()
    }
}

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

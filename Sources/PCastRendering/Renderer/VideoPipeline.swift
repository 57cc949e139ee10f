import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// The video part of a renderer: a queue of encoded or raw frames, a decoding thread, and the presentation.
final class VideoPipeline: Sendable {
    private enum Entry: Sendable {
        case frame(EncodedFrame)
        case frame(VideoFrame)
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
        let worker = try WorkerThread(name: "decode-video", precedence: .media) { [self] in run() }
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
        if isAdmitted, queue.push(.frame(frame)) == nil { return }
        if isAdmitted, !queue.isClosed {
            let lost = queue.count
            queue.removeAll()
            breakChain(losing: lost + 1)
        } else {
            breakChain(losing: 1)
        }
    }

    /// Adds a raw frame. It never blocks; the oldest frame is dropped if the queue is full.
    func push(_ videoFrame: VideoFrame) {
        if queue.count >= Self.frameCapacity, queue.popIfAny() != nil { drop(1) }
        queue.push(.frame(videoFrame))
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
            guard case .frame(let frame) = entry else {
                if case .frame(let videoFrame) = entry { take(videoFrame, isCoded: false, by: converter) }
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

    /// Offers a decoded frame to the application, then presents, skips or drops it. `isCoded` tells whether it was
    /// received encoded.
    private func take(_ decoded: VideoFrame, isCoded: Bool, by converter: RawFrameConverter) {
        let onFrameReady = shared.withLock { state in
            state.meter.counts.framesDecoded += 1
            return state.onFrameReady
        }
        guard let videoFrame = offered(decoded, to: onFrameReady, by: converter) else { return }
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
            state.synchronizer.frame(
                captureTime: videoFrame.captureTime, timestamp: videoFrame.timestamp, at: now)
        }
        switch decision {
        case .late where queue.count > 0: drop(1)
        case .late: present(videoFrame, at: now)
        case .present(let due): present(videoFrame, at: due)
        }
    }

    /// Calls the application's callback. Returns the frame to present; nil if it is dropped.
    private func offered(
        _ videoFrame: VideoFrame, to callback: FrameReadyCallback?, by converter: RawFrameConverter
    ) -> VideoFrame? {
        guard let callback else { return videoFrame }
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

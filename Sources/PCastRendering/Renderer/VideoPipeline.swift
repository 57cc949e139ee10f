import PCastCodecs
import PCastCore
import PCastIO
import Synchronization

/// The video part of a renderer: a queue of encoded or raw frames, a decoding thread, and the presentation.
final class VideoPipeline: Sendable {
    private enum Entry: Sendable {
        case frame(EncodedFrame)
        case picture(VideoFrame)
    }

    /// The most raw frames that are queued.
    private static let pictureCapacity = 2

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
        shared: SharedRendererState, callbacks: RendererCallbacks, options: RendererOptions
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
    func push(_ picture: VideoFrame) {
        if queue.count >= Self.pictureCapacity, queue.popIfAny() != nil { drop(1) }
        queue.push(.picture(picture))
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
                if case .picture(let picture) = entry { take(picture, isCoded: false, by: converter) }
                continue
            }
            // Frames after one that could not be decoded cannot be decoded, either.
            if isBroken, !frame.isKeyFrame {
                drop(1)
                continue
            }
            do {
                if decoder?.codec != frame.codec { decoder = try VideoDecoderByCodec(frame.codec) }
                for picture in try decoder!.decode(frame) { take(picture, isCoded: true, by: converter) }
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
        guard let picture = offered(decoded, to: onFrameReady, by: converter) else { return }
        let now = MonotonicClock.now()
        if isCoded {
            let hasNewer = queue.count > 0
            switch catchUp.withLock({ $0.decoded(timestamp: picture.timestamp, hasNewer: hasNewer, at: now) }) {
            case .begin: return present(picture, at: now)
            case .present: break
            case .skip: return skip(1)
            }
        }
        let verdict = shared.withLock { state in
            state.synchronizer.picture(
                captureTime: picture.captureTime, timestamp: picture.timestamp, at: now)
        }
        switch verdict {
        case .late where queue.count > 0: drop(1)
        case .late: present(picture, at: now)
        case .present(let due): present(picture, at: due)
        }
    }

    /// Calls the application's callback. Returns the frame to present; nil if it is dropped.
    private func offered(
        _ picture: VideoFrame, to callback: FrameReadyCallback?, by converter: RawFrameConverter
    ) -> VideoFrame? {
        guard let callback else { return picture }
        let notification = FrameNotification(picture, converter: converter)
        callback(notification)
        return notification.outcome
    }

    private func present(_ picture: VideoFrame, at due: Instant) {
        guard let presenter else { return screen.show(picture) }
        if !presenter.present(picture, at: due) { drop(1) }
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

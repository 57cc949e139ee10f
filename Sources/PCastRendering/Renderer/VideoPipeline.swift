import PCastCodecs
import PCastIO
import PCastMedia
import Synchronization

/// The way of the picture: a queue of coded frames, a thread that decodes them, and the screen.
final class VideoPipeline: Sendable {
    /// Two seconds at 30 pictures a second. What does not fit cannot be decoded in time.
    private static let capacity = 64

    private let queue = FrameQueue<EncodedFrame>(capacity: VideoPipeline.capacity)
    private let gate = Mutex(KeyFrameGate())
    private let shared: SharedRendererState
    private let screen: PictureScreen
    private let presenter: PicturePresenter?
    private let onKeyFrameNeeded: (@Sendable () -> Void)?
    private let thread = Mutex<WorkerThread?>(nil)

    init(
        shared: SharedRendererState, callbacks: RendererCallbacks, options: RendererOptions
    ) throws(IOError) {
        self.shared = shared
        onKeyFrameNeeded = callbacks.onKeyFrameNeeded
        let screen = PictureScreen(shared: shared, callbacks: callbacks, options: options)
        self.screen = screen
        presenter =
            options.synchronization == .immediate
            ? nil
            : try PicturePresenter(screen: screen) { shared.withLock { $0.meter.counts.framesDropped += 1 } }
        let worker = try WorkerThread(name: "decode-video") { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Never blocks. A full queue is emptied, as the frames after a lost one cannot be decoded.
    func push(_ frame: EncodedFrame) {
        let isAdmitted = gate.withLock { $0.admits(frame) }
        if isAdmitted, queue.push(frame) == nil { return }
        if isAdmitted, !queue.isClosed {
            let lost = queue.count
            queue.removeAll()
            breakChain(losing: lost + 1)
        } else {
            breakChain(losing: 1)
        }
    }

    func stop() {
        queue.removeAll()
        queue.close()
        thread.withLock { $0 }?.join()
        presenter?.stop()
    }

    private func run() {
        var decoder: VideoDecoderByCodec?
        var isBroken = false
        while let frame = queue.pop() {
            // What was queued behind a frame that could not be decoded cannot be either.
            if isBroken, !frame.isKeyFrame {
                drop(1)
                continue
            }
            do {
                if decoder?.codec != frame.codec { decoder = try VideoDecoderByCodec(frame.codec) }
                for picture in try decoder!.decode(frame) { take(picture) }
                isBroken = false
            } catch {
                isBroken = true
                breakChain(losing: 1)
            }
        }
    }

    private func take(_ picture: VideoFrame) {
        let now = MonotonicClock.now()
        let verdict = shared.withLock { state in
            state.meter.counts.framesDecoded += 1
            return state.synchronizer.picture(
                captureTime: picture.captureTime, timestamp: picture.timestamp, at: now)
        }
        switch verdict {
        case .late where queue.count > 0: drop(1)
        case .late: present(picture, at: now)
        case .present(let due): present(picture, at: due)
        }
    }

    private func present(_ picture: VideoFrame, at due: Instant) {
        guard let presenter else { return screen.show(picture) }
        if !presenter.present(picture, at: due) { drop(1) }
    }

    private func drop(_ count: Int) { shared.withLock { $0.meter.counts.framesDropped += count } }

    /// Frames are lost to the decoder: asks for a key frame, from which on all is well again.
    private func breakChain(losing count: Int) {
        drop(count)
        let asks = gate.withLock { gate in
            gate.close()
            return gate.asks(at: MonotonicClock.now())
        }
        if asks { onKeyFrameNeeded?() }
    }
}

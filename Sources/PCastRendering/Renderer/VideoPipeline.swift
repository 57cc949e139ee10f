import PCastCodecs
import PCastIO
import PCastMedia
import Synchronization

/// The way of the picture: a queue of coded frames, or of pictures, a thread that decodes them, and the screen.
final class VideoPipeline: Sendable {
    private enum Entry: Sendable {
        case frame(EncodedFrame)
        case picture(VideoFrame)
    }

    /// Pictures of a source that wait at most.
    private static let pictureCapacity = 2

    /// Two seconds at 30 pictures a second. What does not fit cannot be decoded in time.
    private static let capacity = 64

    private let queue = FrameQueue<Entry>(capacity: VideoPipeline.capacity)
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
        let worker = try WorkerThread(name: "decode-video", precedence: .media) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Never blocks. A full queue is emptied, as the frames after a lost one cannot be decoded.
    func push(_ frame: EncodedFrame) {
        let isAdmitted = gate.withLock { $0.admits(frame) }
        if isAdmitted, queue.push(.frame(frame)) == nil { return }
        if isAdmitted, !queue.isClosed {
            let lost = queue.count
            queue.removeAll()
            breakChain(losing: lost + 1)
        } else {
            breakChain(losing: 1)
        }
    }

    /// Never blocks; what there is no time for is dropped.
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
        let converter = RawPictureConverter()
        var isBroken = false
        while let entry = queue.pop() {
            guard case .frame(let frame) = entry else {
                if case .picture(let picture) = entry { take(picture, by: converter) }
                continue
            }
            // What was queued behind a frame that could not be decoded cannot be either.
            if isBroken, !frame.isKeyFrame {
                drop(1)
                continue
            }
            do {
                if decoder?.codec != frame.codec { decoder = try VideoDecoderByCodec(frame.codec) }
                for picture in try decoder!.decode(frame) { take(picture, by: converter) }
                isBroken = false
            } catch {
                isBroken = true
                breakChain(losing: 1)
            }
        }
    }

    private func take(_ decoded: VideoFrame, by converter: RawPictureConverter) {
        let onFrameReady = shared.withLock { state in
            state.meter.counts.framesDecoded += 1
            return state.onFrameReady
        }
        guard let picture = offered(decoded, to: onFrameReady, by: converter) else { return }
        let now = MonotonicClock.now()
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

    /// What an application makes of a picture; nil when it leaves it out.
    private func offered(
        _ picture: VideoFrame, to callback: FrameReadyCallback?, by converter: RawPictureConverter
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

import PCastCore
import PCastIO
import Synchronization

/// A thread that calls a function at even times of the monotonic clock.
final class PacedThread: Sendable {
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    deinit { stop() }

    /// Starts the thread. `due` returns the time of a call after `origin` by its number. A call that is late by more
    /// than `timeout` is skipped. Throws `DeviceError.noThread`.
    func start(
        name: String, from origin: Instant, due: @escaping @Sendable (Int64) -> TimeSpan, timeout: TimeSpan,
        body: @escaping @Sendable (_ frameIndex: Int64, _ due: TimeSpan) -> Void
    ) throws(DeviceError) {
        let sleep = sleep
        do {
            let worker = try WorkerThread(name: name, precedence: .media) {
                var frameIndex: Int64 = 0
                while sleep.sleep(until: origin + due(frameIndex)) {
                    if MonotonicClock.now() - origin - due(frameIndex) < timeout { body(frameIndex, due(frameIndex)) }
                    frameIndex += 1
                }
            }
            thread.withLock { $0 = worker }
        } catch {
            throw .noThread("\(error)")
        }
    }

    func stop() {
        sleep.cancel()
        let worker = thread.withLock { $0 }
        worker?.join()
    }
}

/// Video frames at a constant rate, which a thread delivers.
struct PacedVideo: Sendable {
    let dimensions: Dimensions
    /// The frame rate in frames per second, 1 to 240.
    let frameRate: Int
    private let pace = PacedThread()

    init(dimensions: Dimensions, frameRate: Int) {
        precondition((1...240).contains(frameRate), "the frame rate must be valid")
        self.dimensions = dimensions
        self.frameRate = frameRate
    }

    init(_ configuration: VideoConfiguration) {
        self.init(
            dimensions: configuration.dimensions,
            frameRate: min(240, max(1, Int(configuration.frameRate.perSecond.rounded()))))
    }

    /// Starts to deliver frames. `frame` returns a frame by its number, capture time and timestamp. Throws
    /// `DeviceError.noThread`.
    func start(
        name: String, deliver: @escaping @Sendable (VideoSample) -> Void,
        frame: @escaping @Sendable (_ frameIndex: Int64, _ captureTime: WallTime, _ timestamp: MediaTime) -> VideoFrame
    ) throws(DeviceError) {
        let rate = ClockRate(hertz: Int64(frameRate))
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        try pace.start(
            name: name, from: reference.instant, due: { rate.span(ofTicks: $0) }, timeout: .milliseconds(200)
        ) { frameIndex, due in
            let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: due), rate: .video)
            deliver(.frame(frame(frameIndex, origin + due, timestamp)))
        }
    }

    func stop() { pace.stop() }
}

/// Audio in frames of 20 ms, which a thread delivers. Like those of a microphone, a frame is delivered at the time of its
/// last sample.
struct PacedAudio: Sendable {
    /// The number of channels, 1 or 2.
    let channels: Int
    private let pace = PacedThread()

    init(channels: Int) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver audio. `samples` returns the samples of a frame by the number of the first one, and the capture
    /// time of the sample 0. Throws `DeviceError.noThread`.
    func start(
        name: String, timeout: TimeSpan, deliver: @escaping @Sendable (AudioFrame) -> Void,
        samples: @escaping @Sendable (_ start: Int64, _ origin: WallTime) -> [Int16]
    ) throws(DeviceError) {
        let channels = channels
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        try pace.start(name: name, from: reference.instant, due: AudioFrameTiming.due, timeout: timeout) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            deliver(
                AudioFrame(
                    samples: samples(start, origin), channels: channels,
                    captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    func stop() { pace.stop() }
}

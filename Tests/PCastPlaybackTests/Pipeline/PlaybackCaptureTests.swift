import PCast
import PCastCodecs
import PCastCore
import PCastIO
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("An outlet that plays elsewhere")
struct PlaybackOutletTests {
    /// Keeps the frames that it shows, and may be delayed by a frame.
    private final class Screen: UnseenSurface {
        let shown = Mutex<[VideoFrame]>([])
        private let whileShowing: @Sendable (VideoFrame) -> Void

        init(whileShowing: @escaping @Sendable (VideoFrame) -> Void = { _ in }) { self.whileShowing = whileShowing }

        func show(_ frame: VideoFrame) {
            whileShowing(frame)
            shown.withLock { $0.append(frame) }
        }

        var events: AsyncStream<SurfaceEvent> { AsyncStream { $0.finish() } }

        /// The luma of the last frame.
        var last: UInt8? { shown.withLock { $0.last }.map { $0.planeY[0] } }
    }

    private static func frame(_ luma: UInt8) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: Dimensions(width: 32, height: 16), captureTime: nil,
            timestamp: MediaTime(ticks: 0, rate: .video))
        for index in frame.memory.indices { frame.memory[index] = luma }
        return frame
    }

    @Test("a cleared screen stays clear, because a frame that is being shown is completed before")
    func inFlight() throws {
        let capture = PlaybackCapture()
        let isCleared = WakeSignal()
        let workers = Mutex<[WorkerThread]>([])
        let isFirst = Atomic(true)
        let screen = Screen { frame in
            // The first frame is being shown when another thread clears the screen.
            guard frame.planeY[0] == 100, isFirst.exchange(false, ordering: .relaxed) else { return }
            let worker = try? WorkerThread(name: "clear") {
                capture.setAway(true)
                isCleared.raise()
            }
            if let worker { workers.withLock { $0.append(worker) } }
            // The other thread succeeds at once, or only after this frame was shown.
            isCleared.wait(until: MonotonicClock.now() + .milliseconds(300))
        }
        capture.show(Self.frame(100), on: screen)
        for worker in workers.withLock({ $0 }) { worker.join() }
        #expect(screen.last == 16)
        capture.show(Self.frame(120), on: screen)
        #expect(screen.last == 16, "later frames are not shown")
        capture.setAway(false)
        #expect(screen.last == 120, "it is shown again when the other output has ended")
    }

    @Test("the displayed frame is what the screen shows: cleared, and with its graphic")
    func displayed() throws {
        let (capture, screen) = (PlaybackCapture(), Screen())
        #expect(capture.displayedFrame == nil)
        capture.show(Self.frame(90), on: screen)
        #expect(capture.displayedFrame?.planeY[0] == 90)
        capture.setAway(true)
        capture.show(Self.frame(100), on: screen)
        #expect(screen.last == 16 && capture.displayedFrame?.planeY[0] == 16)
        capture.setAway(false)
        #expect(screen.last == 100 && capture.displayedFrame?.planeY[0] == 100)
    }

    @Test("a graphic over a still frame is not shown on a cleared screen")
    func graphic() throws {
        let (capture, screen) = (PlaybackCapture(), Screen())
        capture.show(Self.frame(90), on: screen)
        capture.setAway(true)
        #expect(screen.last == 16)
        let count = screen.shown.withLock { $0.count }
        capture.setAway(true)
        #expect(screen.shown.withLock { $0.count } == count)
        capture.setAway(false)
        #expect(screen.last == 90)
    }

    @Test(
        "while a page has audio, it is added to the content's, at the times at which both are due",
        .timeLimit(.minutes(5)))
    func mixing() async throws {
        let capture = PlaybackCapture()
        let renderer = capture.mediaStream.createRenderer(.nullDevices)
        let heard = Mutex<[(samples: [Int16], timestamp: Int64)]>([])
        renderer.setAudioTap { audio, _ in heard.withLock { $0.append((audio.samples, audio.timestamp.ticks)) } }
        try renderer.start()
        defer { renderer.stop() }
        func audio(_ value: Int16) -> AudioFrame {
            AudioFrame(
                samples: Array(repeating: value, count: 19_200), channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .opus))
        }
        try capture.beginMixing()
        // 200 ms of each, of which 100 ms are due at the same time.
        let start = MonotonicClock.now() + .milliseconds(500)
        capture.play(audio(1_000), at: start)
        capture.mix(audio(500), at: start + .milliseconds(100))
        let deadline = ContinuousClock.now + .seconds(120)
        func count(_ value: Int16) -> Int {
            heard.withLock { heard in heard.reduce(0) { $0 + $1.samples.count { $0 == value } } }
        }
        // The renderer may leave out samples, as it follows its clock.
        while count(500) < 4_800, ContinuousClock.now < deadline {
            try await ContinuousClock().sleep(for: .milliseconds(5))
        }
        let counts = [count(1_000), count(1_500), count(500)]
        #expect(counts.allSatisfy { (4_800...9_600).contains($0) }, "\(counts)")
        // Without a page, the content's audio follows as it is.
        capture.endMixing()
        capture.play(audio(2_000), at: MonotonicClock.now() + .milliseconds(500))
        while count(2_000) < 9_600, ContinuousClock.now < deadline {
            try await ContinuousClock().sleep(for: .milliseconds(5))
        }
        #expect(count(2_000) >= 9_600)
        let times = heard.withLock { $0.map(\.timestamp) }
        #expect(times == times.sorted())
    }
}

import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastRendering

@Suite("A renderer that finishes presents what it has received", .timeLimit(.minutes(5)))
struct LastFramesTests {
    private struct Presented {
        let timestamp: MediaTime
        let at: Instant
    }

    /// A renderer whose frames are captured at a constant rate, and arrive when they are captured or earlier.
    private final class Viewer: Sendable {
        static let interval = TimeSpan.milliseconds(40)

        let renderer: StreamRenderer
        private let begin = MonotonicClock.reference()
        private let frame: VideoFrame
        private let record = Record()

        init() throws {
            frame = try Colours.plain(Colours.green)
            let record = record
            renderer = try StreamRenderer(callbacks: RendererCallbacks(onFrame: { record.add($0) }))
        }

        /// The frames that were presented, in their order.
        var presented: [Presented] { record.presented }

        /// Returns the time of a frame's capture.
        func captured(_ position: TimeSpan) -> Instant { begin.instant + position }

        /// Adds a frame, and waits until it is decoded.
        func push(_ position: TimeSpan) {
            let count = renderer.statistics().framesDecoded
            renderer.push(
                frame.retimed(
                    captureTime: begin.wallTime + position,
                    timestamp: MediaTime(ticks: ClockRate.video.ticks(in: position), rate: .video)))
            while renderer.statistics().framesDecoded == count {
                FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(1))
            }
        }

        /// Adds frames as they are captured, until the delay does not drop at once any more.
        func start() {
            for index in 0..<35 as Range<Int64> {
                let position = Self.interval * index
                FramePacing.sleep(until: captured(position))
                push(position)
            }
        }
    }

    private final class Record: Sendable {
        private let frames = Mutex<[Presented]>([])

        var presented: [Presented] { frames.withLock { $0 } }

        func add(_ frame: VideoFrame) {
            let now = MonotonicClock.now()
            frames.withLock { $0.append(Presented(timestamp: frame.timestamp, at: now)) }
        }
    }

    @Test("frames that wait for their time are presented at it, and rendering ends after the last one")
    func frames() throws {
        let viewer = try Viewer()
        viewer.start()
        // These frames arrive long before they are due.
        let positions = (0..<5 as Range<Int64>).map { TimeSpan.seconds(3) + Viewer.interval * $0 }
        let dropped = viewer.renderer.summary().framesDropped
        for position in positions { viewer.push(position) }
        viewer.renderer.finish(by: MonotonicClock.now() + .seconds(60))
        let times = positions.map { ClockRate.video.ticks(in: $0) }
        let last = viewer.presented.filter { $0.timestamp.ticks >= times[0] }
        // An overloaded machine may present the next frame in place of one that is late.
        #expect(last.count + viewer.renderer.summary().framesDropped - dropped == times.count)
        #expect(last.map(\.timestamp.ticks) == times.filter { time in last.contains { $0.timestamp.ticks == time } })
        #expect(last.last?.timestamp.ticks == times.last)
        for frame in last {
            let position = positions[try #require(times.firstIndex(of: frame.timestamp.ticks))]
            #expect(frame.at >= viewer.captured(position))
        }
        #expect(viewer.renderer.lastFrame?.timestamp.ticks == ClockRate.video.ticks(in: positions[4]))
        #expect(viewer.renderer.summary().framesRendered == viewer.presented.count)
    }

    @Test("it does not wait for frames that are due after its time limit")
    func limited() throws {
        let viewer = try Viewer()
        viewer.start()
        viewer.push(.seconds(3_600))
        viewer.renderer.finish()
        #expect(viewer.presented.last.map { $0.timestamp.ticks < ClockRate.video.ticks(in: .seconds(3_600)) } == true)
    }

    @Test("it ends at once when it is stopped meanwhile")
    func stopped() throws {
        let viewer = try Viewer()
        viewer.start()
        viewer.push(.seconds(3_600))
        let finishing = try WorkerThread(name: "finishing") {
            viewer.renderer.finish(by: MonotonicClock.now() + .seconds(3_600))
        }
        viewer.renderer.stop()
        finishing.join()
        #expect(viewer.presented.last.map { $0.timestamp.ticks < ClockRate.video.ticks(in: .seconds(3_600)) } == true)
    }
}

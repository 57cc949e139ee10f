import PCastCore
import PCastIO
import Testing

@testable import PCastBench

@Suite struct ContendingWorkTests {
    @Test("the threads work until they are stopped", .timeLimit(.minutes(5))) func work() async throws {
        let work = try ContendingWork(threads: 2)
        while work.passes < 4 { await Task.yield() }
        work.stop()
        let passes = work.passes
        // The threads have ended, so that a second call finds nothing to stop.
        work.stop()
        #expect(work.passes == passes)
    }

    @Test("beside other work, only the latency of the video and dropped frames have targets") func targets() {
        let contended = LatencyCommand.targets(isContended: true)
        #expect(contended.map(\.metric) == ["pictureLatencyP99", "framesDropped"])
        #expect(contended[0].holds(for: 80) && !contended[0].holds(for: 80.1))
        #expect(contended[1].holds(for: 0) && !contended[1].holds(for: 1))
        #expect(LatencyCommand.targets(isContended: false).count > contended.count)
    }
}

import PCastCore
import Testing

@testable import PCastPlatform

@Suite("Requests that wait until a stream is packaged")
struct PackagingWaitersTests {
    /// This is longer than any test takes.
    private static let ample = Duration.seconds(3_600)
    private let waiters = PackagingWaiters()
    private let id = StreamID("stream")

    @Test("all requests for a stream continue when it is packaged, and those for others wait")
    func resumed() async throws {
        let other = StreamID("other")
        let waiting = (0..<3).map { _ in
            Task { await waiters.wait(for: id, within: Self.ample, unless: { false }) }
        }
        let late = Task { await waiters.wait(for: other, within: Self.ample, unless: { false }) }
        #expect(try await eventually { waiters.count == 4 })
        waiters.resume(id)
        for task in waiting { await task.value }
        #expect(waiters.count == 1)
        waiters.resume(other)
        await late.value
        #expect(waiters.count == 0)
    }

    @Test("a request does not wait for a stream that is packaged already")
    func ready() async {
        await waiters.wait(for: id, within: Self.ample, unless: { true })
        #expect(waiters.count == 0)
    }

    @Test("a request continues after the maximum time, and when its client leaves")
    func limits() async throws {
        await waiters.wait(for: id, within: .milliseconds(1), unless: { false })
        #expect(waiters.count == 0)
        let task = Task { await waiters.wait(for: id, within: Self.ample, unless: { false }) }
        #expect(try await eventually { waiters.count == 1 })
        task.cancel()
        await task.value
        #expect(waiters.count == 0)
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await waiters.wait(for: id, within: Self.ample, unless: { false })
        }.value
        #expect(waiters.count == 0)
    }
}

import PCastCore
import PCastIO
import PCastPlayback
import PCastRendering
import Synchronization

/// A player whose shown frames are recorded, with the operations to measure.
struct MeasuredPlayback: Sendable {
    let recorder = RecordingSurface()
    let player: Player

    /// The timeout of each operation.
    private static let timeout = TimeSpan.seconds(10 as Int64)

    init() { player = Player(.media(playsAudio: false, shownOn: recorder)) }

    /// Starts playback at the beginning, or at the default position of a live presentation. Returns the time to the
    /// first frame. Throws `BenchFailure` if none is shown.
    func start(_ address: String) async throws -> TimeSpan {
        let shownFrames = recorder.expect { _ in true }
        let begun = MonotonicClock.now()
        player.set(video: Video(address), play: true)
        return try await first(of: shownFrames, "a first frame of \(address)").moment - begun
    }

    /// Seeks during playback. Returns the time until the frame of the position is shown. Throws `BenchFailure` if it is
    /// not.
    func seek(to position: TimeSpan) async throws -> TimeSpan {
        let counter = Int(position.nanoseconds * Int64(StampedVideo.rate) / 1_000_000_000)
        let shownFrames = recorder.expect { $0.counter == counter }
        let begun = MonotonicClock.now()
        player.startSeek(to: position.duration)
        return try await first(of: shownFrames, "frame \(counter)").moment - begun
    }

    /// Waits until the given duration has been played. Returns all frames shown so far. Throws `BenchFailure` if
    /// playback does not get that far.
    func watch(_ length: TimeSpan) async throws -> [RecordingSurface.ShownFrame] {
        let begun = recorder.shownFrames.first?.counter ?? 0
        let goal = begun + Int(length.nanoseconds * Int64(StampedVideo.rate) / 1_000_000_000)
        let shownFrames = recorder.expect { $0.counter >= goal }
        _ = try await first(of: shownFrames, "frame \(goal)", within: length + Self.timeout)
        return recorder.shownFrames
    }

    /// Waits until the given duration is buffered ahead of the position. Throws `BenchFailure` if that takes too long.
    func awaitBuffer(_ length: TimeSpan) async throws {
        let (player, goal) = (player, length.seconds)
        let positions = player.positions()
        try await waitFor("a buffer of \(length)", within: Self.timeout) {
            for await _ in positions where player.bufferedPosition - player.position >= goal { return true }
            return nil
        }
    }

    /// Stops the player and waits for its threads.
    func stop() async {
        player.reset()
        await player.settled()
    }

    private func first(
        of shownFrames: AsyncStream<RecordingSurface.ShownFrame>, _ what: String,
        within timeout: TimeSpan = Self.timeout
    ) async throws -> RecordingSurface.ShownFrame {
        try await waitFor(what, within: timeout) {
            for await shownFrame in shownFrames { return shownFrame }
            return nil
        }
    }

    @discardableResult
    private func waitFor<Value: Sendable>(
        _ what: String, within timeout: TimeSpan, _ body: @escaping @Sendable () async -> Value?
    ) async throws -> Value {
        let events = player.events()
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                for await event in events {
                    if case .error(let error) = event.kind { throw BenchFailure("\(what): \(error)") }
                }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: timeout.duration)
                throw BenchFailure("\(what) did not occur within \(timeout)")
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw BenchFailure("\(what) did not occur")
        }
    }
}

/// An invisible render surface that records when each frame of a ``StampedVideo`` was shown.
final class RecordingSurface: RenderSurface {
    struct ShownFrame: Sendable {
        var counter: Int
        var moment: Instant
    }

    private struct State {
        var shownFrames: [ShownFrame] = []
        var waiting:
            [(isExpected: @Sendable (ShownFrame) -> Bool, continuation: AsyncStream<ShownFrame>.Continuation)] = []
        var statistics = SurfaceStatistics()
    }

    private let state = Mutex(State())
    private let surfaceEvents = SurfaceEvents()
    private let arranged = Mutex(FrameArrangement())

    init() { surfaceEvents.notify(.ready(StampedVideo.dimensions)) }

    func show(_ frame: VideoFrame) {
        let moment = MonotonicClock.now()
        guard let pattern = TestPatternStrip.read(frame) else { return }
        let shownFrame = ShownFrame(counter: Int(pattern.counter), moment: moment)
        state.withLock { state in
            state.shownFrames.append(shownFrame)
            state.statistics.framesShown += 1
            state.waiting.removeAll { waiting in
                guard waiting.isExpected(shownFrame) else { return false }
                waiting.continuation.yield(shownFrame)
                waiting.continuation.finish()
                return true
            }
        }
    }

    var arrangement: FrameArrangement {
        get { arranged.withLock { $0 } }
        set { arranged.withLock { $0 = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// All frames shown so far, in order; the length of the film limits their number.
    var shownFrames: [ShownFrame] { state.withLock { $0.shownFrames } }

    /// Returns a stream of the next frame that satisfies the condition. It must be called before the operation that
    /// causes the frame.
    func expect(_ isExpected: @escaping @Sendable (ShownFrame) -> Bool) -> AsyncStream<ShownFrame> {
        let (stream, continuation) = AsyncStream.makeStream(of: ShownFrame.self)
        state.withLock { $0.waiting.append((isExpected, continuation)) }
        return stream
    }
}

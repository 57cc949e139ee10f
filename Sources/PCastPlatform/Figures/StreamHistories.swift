import PCastIO
import PCastMedia
import PCastRelay
import Synchronization

/// The histories of all streams that are published.
final class StreamHistories: Sendable {
    /// Streams that have one, which takes 8 KiB each; others are without until there is room.
    static let capacity = 4_096

    private let all = Mutex<[StreamID: StreamHistory]>([:])

    /// Looks at every stream each second, until the task is cancelled.
    func run(of router: MediaRouter) async {
        repeat {
            note(await router.samples(), at: MonotonicClock.wallTime())
        } while (try? await Task.sleep(for: StreamHistory.interval.duration)) != nil
    }

    /// Notes what streams are like, and forgets those that are gone.
    func note(_ figures: [StreamFigures], at time: WallTime) {
        all.withLock { all in
            let present = Set(figures.map(\.stream))
            all = all.filter { present.contains($0.key) }
            for stream in figures where all[stream.stream] != nil || all.count < Self.capacity {
                all[stream.stream, default: StreamHistory()].add(stream, at: time)
            }
        }
    }

    /// Nil when there is no such stream, or no room for its history.
    func history(of stream: StreamID) -> StreamHistory? { all.withLock { $0[stream] } }
}

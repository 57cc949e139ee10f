import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The histories of all published streams.
final class StreamHistoryStore: Sendable {
    /// The maximum number of histories, which need 8 KiB each. Further streams have none.
    static let capacity = 4_096

    private let all = Mutex<[StreamID: StreamHistory]>([:])

    /// Records a sample of all streams each second until the task is cancelled.
    func run(of router: MediaRouter) async {
        repeat {
            note(await router.samples(), at: MonotonicClock.wallTime())
        } while (try? await Task.sleep(for: StreamHistory.interval.duration)) != nil
    }

    /// Adds samples and removes the histories of ended streams.
    func note(_ figures: [StreamMetrics], at time: WallTime) {
        all.withLock { all in
            let present = Set(figures.map(\.stream))
            all = all.filter { present.contains($0.key) }
            for stream in figures where all[stream.stream] != nil || all.count < Self.capacity {
                all[stream.stream, default: StreamHistory()].add(stream, at: time)
            }
        }
    }

    /// Returns the history of a stream; nil if the stream does not exist or has no history.
    func history(of stream: StreamID) -> StreamHistory? { all.withLock { $0[stream] } }
}

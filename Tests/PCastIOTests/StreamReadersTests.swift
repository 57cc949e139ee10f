import Synchronization
import Testing

@testable import PCastIO

@Suite("Readers of a stream", .timeLimit(.minutes(10)))
struct StreamReadersTests {
    @Test("each reader receives everything since it joined in order, and the end")
    func order() async {
        var readers = StreamReaders<Int>(.newest(64))
        readers.yield(0)
        let first = readers.add()
        readers.yield(1)
        let second = readers.add(beginningWith: 10)
        readers.yield(2)
        readers.finish()
        #expect(await first.reduce(into: []) { $0.append($1) } == [1, 2])
        #expect(await second.reduce(into: []) { $0.append($1) } == [10, 2])
    }

    @Test("a reader that falls behind misses the oldest elements, or is ended")
    func backlog() async {
        var missing = StreamReaders<Int>(.newest(2))
        let newest = missing.add()
        for number in 1...5 { missing.yield(number) }
        missing.finish()
        #expect(await newest.reduce(into: []) { $0.append($1) } == [4, 5])
        var ending = StreamReaders<Int>(.unbroken(2))
        let oldest = ending.add()
        for number in 1...5 { ending.yield(number) }
        #expect(await oldest.reduce(into: []) { $0.append($1) } == [1, 2])
    }

    /// A cancelled task holds a lock while it releases its stream, and yielding to the stream waits for that lock. If
    /// the release waited for the lock of the yielding thread, both waited forever.
    @Test("readers can be cancelled at any time, and none waits forever")
    func cancelled() async throws {
        let readers = Mutex(StreamReaders<Int>(.newest(1)))
        let isOver = Atomic(false)
        let tellers = try (0..<2).map { _ in
            try WorkerThread(name: "teller") {
                var number = 0
                while !isOver.load(ordering: .relaxed) {
                    readers.withLock { $0.yield(number) }
                    number += 1
                }
            }
        }
        for _ in 0..<5_000 {
            let stream = readers.withLock { $0.add() }
            let (heard, notify) = AsyncStream.makeStream(of: Int.self)
            let reader = Task {
                for await number in stream { notify.yield(number) }
                notify.finish()
            }
            for await _ in heard { break }
            reader.cancel()
            await reader.value
        }
        isOver.store(true, ordering: .relaxed)
        for teller in tellers { teller.join() }
    }
}

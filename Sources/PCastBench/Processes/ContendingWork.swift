import PCastIO
import Synchronization

/// Threads that use each CPU without a pause at the ordinary priority, like a compiler that runs beside a measurement.
///
/// Each thread changes more memory than the caches of a core hold, so that it competes for these, too.
final class ContendingWork: Sendable {
    private final class State: Sendable {
        let isStopped = Atomic(false)
        let passes = Atomic(0)
    }

    private static let memory = 16 << 20
    /// The distance of the changed bytes, which is that of cache lines.
    private static let stride = 64

    private let state: State
    private let threads: [WorkerThread]

    /// Starts the threads.
    ///
    /// - Throws: `IOError` if a thread cannot be created.
    init(threads count: Int = Processor.count) throws {
        let state = State()
        self.state = state
        threads = try (0..<count).map { number in
            try WorkerThread(name: "contending-\(number)") { Self.run(state) }
        }
    }

    /// The number of times that a thread has changed its memory.
    var passes: Int { state.passes.load(ordering: .relaxed) }

    /// Ends the threads.
    func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
    }

    deinit { state.isStopped.store(true, ordering: .relaxed) }

    private static func run(_ state: State) {
        var bytes = [UInt8](repeating: 0, count: memory)
        while !state.isStopped.load(ordering: .relaxed) {
            for index in Swift.stride(from: 0, to: bytes.count, by: stride) { bytes[index] &+= 1 }
            state.passes.add(1, ordering: .relaxed)
        }
    }
}

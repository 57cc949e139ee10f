import Foundation
import PCastCore
import PCastIO
import Synchronization

/// The resources that this process uses.
struct ProcessMetrics {
    /// The resident memory in bytes.
    var memory: Int
    var descriptors: Int
    var threads: Int

    static func now() throws -> ProcessMetrics {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return ProcessMetrics(
            memory: number("VmRSS") << 10,
            descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            threads: number("Threads"))
    }
}

/// Measures for how long a busy machine did not run this process: a thread that wakes every few milliseconds records how
/// late it was.
final class StallWatch: Sendable {
    private let delays = Mutex<[(at: Instant, by: TimeSpan)]>([])
    private let isOver = Atomic(false)
    private let thread = Mutex<WorkerThread?>(nil)

    init() throws {
        let worker = try WorkerThread(name: "stalls") { self.measure() }
        thread.withLock { $0 = worker }
    }

    private func measure() {
        let pause = WakeSignal()
        while !isOver.load(ordering: .relaxed) {
            let due = MonotonicClock.now() + .milliseconds(5)
            pause.wait(until: due)
            let now = MonotonicClock.now()
            if now - due > .milliseconds(5) { delays.withLock { $0.append((now, now - due)) } }
        }
    }

    /// Returns the sum of the delays that ended between two times, or shortly after them.
    func delay(from begin: Instant, to end: Instant) -> TimeSpan {
        delays.withLock { delays in
            delays.reduce(TimeSpan.zero) { sum, delay in
                delay.at >= begin && delay.at - delay.by <= end ? sum + delay.by : sum
            }
        }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        thread.withLock { $0 }?.join()
    }
}

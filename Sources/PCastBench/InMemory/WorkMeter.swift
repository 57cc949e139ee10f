import Glibc
import PCastCore

/// Measures the calling thread's CPU time and allocations between `begin()` and `end(_:)`.
struct WorkMeter {
    private var instant = Instant(nanoseconds: 0)
    private var allocations = 0
    private let counter = AllocationCounter.loaded
    /// The number of allocations whose stack traces are still to be printed.
    var tracing = 0

    mutating func begin() {
        allocations = counter?.count ?? 0
        if tracing > 0 { counter?.traceNext(tracing) }
        instant = Self.threadTime()
    }

    mutating func end(_ cost: inout WorkCost) {
        cost.nanoseconds += (Self.threadTime() - instant).nanoseconds
        if tracing > 0 { counter?.traceNext(0) }
        let made = (counter?.count ?? 0) - allocations
        cost.allocations += made
        if tracing > 0 { tracing = max(0, tracing - made) }
    }

    /// Returns the time of `CLOCK_THREAD_CPUTIME_ID` (clock_gettime(2)). A `timespec` is two words on 64-bit Linux.
    static func threadTime() -> Instant {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { words in
            let time = UnsafeMutableRawPointer(words.baseAddress!).assumingMemoryBound(to: timespec.self)
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, time)
            return Instant(nanoseconds: Int64(words[0]) * 1_000_000_000 + Int64(words[1]))
        }
    }
}

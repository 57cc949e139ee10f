import PCastIO
import PCastMedia

/// Reads time and allocations before and after a part of the work.
struct TollMeter {
    private var instant = Instant(nanoseconds: 0)
    private var allocations = 0
    private let counter = AllocationCounter.loaded
    /// Where allocations are to be told, how many are told at most.
    var tracing = 0

    mutating func begin() {
        allocations = counter?.count ?? 0
        if tracing > 0 { counter?.traceNext(tracing) }
        instant = MonotonicClock.now()
    }

    mutating func end(_ toll: inout Toll) {
        toll.nanoseconds += (MonotonicClock.now() - instant).nanoseconds
        if tracing > 0 { counter?.traceNext(0) }
        let made = (counter?.count ?? 0) - allocations
        toll.allocations += made
        if tracing > 0 { tracing = max(0, tracing - made) }
    }
}

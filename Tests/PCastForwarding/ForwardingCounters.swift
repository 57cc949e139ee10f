import Glibc

/// The resources that this thread has used.
enum ForwardingCounters {
    /// The number of allocations according to the preloaded counter; nil without it.
    static var allocations: Int? {
        guard let read = dlsym(nil, "pcast_malloc_count") else { return nil }
        return Int(unsafeBitCast(read, to: (@convention(c) () -> UInt).self)())
    }

    /// The processor time in nanoseconds.
    static var processorTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

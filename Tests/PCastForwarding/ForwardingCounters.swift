import Glibc

/// What this thread has used.
enum ForwardingCounters {
    /// By the preloaded counter; nil without it.
    static var allocations: Int? {
        guard let read = dlsym(nil, "pcast_malloc_count") else { return nil }
        return Int(unsafeBitCast(read, to: (@convention(c) () -> UInt).self)())
    }

    /// In nanoseconds.
    static var processorTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

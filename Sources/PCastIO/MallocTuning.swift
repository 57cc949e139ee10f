internal import CLinux

/// Functions that tune `malloc` for this process.
package enum MallocTuning {
    /// Returns whole pages of freed memory to the system (malloc_trim(3)). It takes some milliseconds. By default,
    /// `malloc` keeps free pages between allocated blocks.
    package static func trim() { malloc_trim(0) }

    /// Limits the number of arenas, which is the number of threads that can allocate at the same time (mallopt(3),
    /// `M_ARENA_MAX`). Each arena wastes memory by fragmentation. It has no effect on existing arenas, so it must be
    /// the first call of a program.
    package static func limitArenas(to count: Int) { mallopt(M_ARENA_MAX, Int32(clamping: max(1, count))) }
}

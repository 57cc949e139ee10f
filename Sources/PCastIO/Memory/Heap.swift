internal import CLinux

/// What `malloc` holds for this process.
public enum Heap {
    /// Gives whole pages of freed memory back to the machine (malloc_trim(3)), which takes some milliseconds: `malloc` by
    /// itself keeps the holes between what lives on.
    public static func trim() { malloc_trim(0) }

    /// Lets that many threads allocate at the same moment; the others wait for each other (mallopt(3), `M_ARENA_MAX`). Each
    /// arena has holes of its own. Counts for those that are not there yet: to be called as the first thing of a program.
    public static func limitArenas(to count: Int) { mallopt(M_ARENA_MAX, Int32(clamping: max(1, count))) }
}

import Glibc

/// The limit of open files and sockets of this process and its children.
enum Descriptors {
    private static let wanted: rlim_t = 65_536

    /// Raises the limit. Throws `BenchFailure` if the system does not allow enough for a thousand viewers.
    static func allowMany() throws {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(files, &limit)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_max = max(limit.rlim_max, wanted)
        limit.rlim_cur = wanted
        if setrlimit(files, &limit) == 0 { return }
        getrlimit(files, &limit)
        limit.rlim_cur = min(wanted, limit.rlim_max)
        guard setrlimit(files, &limit) == 0, limit.rlim_cur >= 4_096 else {
            throw BenchFailure("this needs more open files than the system allows: raise “ulimit -n”")
        }
    }
}

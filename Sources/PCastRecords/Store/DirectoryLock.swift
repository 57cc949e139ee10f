import Glibc

/// Holds a directory for one process: a second platform in the same one would write over the first's records.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `RecordsError.inUse`, `.inaccessible` or `.full`.
    init(_ directory: String) throws(RecordsError) {
        let path = directory + "/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == ENOSPC
                ? .full(path: path) : .inaccessible(path: path, reason: String(cString: strerror(errno)))
        }
        // Ends with the process, also with one that was killed.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .inUse(path: directory) }
    }

    /// Also of one whose initializer threw, as it had all it has by then: what it closed itself would be closed twice, and the
    /// second time may hit whatever another thread has opened meanwhile.
    deinit { if descriptor >= 0 { close(descriptor) } }
}

import Glibc

/// An exclusive lock of a directory. It prevents a second platform from overwriting the database of the first one.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Locks a directory.
    ///
    /// - Throws: ``RecordsError/inUse(path:)``, ``RecordsError/inaccessible(path:reason:)`` or
    ///   ``RecordsError/full(path:)``.
    init(_ directory: String) throws(RecordsError) {
        let path = directory + "/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == ENOSPC
                ? .full(path: path) : .inaccessible(path: path, reason: String(cString: strerror(errno)))
        }
        // The kernel releases the lock when the process ends, even if it is killed.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .inUse(path: directory) }
    }

    /// Runs even if the initializer throws, because all properties are set by then. The initializer must not close the
    /// descriptor itself: a second `close` could hit a descriptor that another thread has opened meanwhile.
    deinit { if descriptor >= 0 { close(descriptor) } }
}

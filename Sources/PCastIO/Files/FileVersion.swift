internal import Glibc

/// The version of a file's content, determined without reading it. It changes when the file is written or replaced, or
/// when a link in its path changes.
package struct FileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// Determines the version of a file; nil if it does not exist.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}

/// A detector of changed files. A change is reported when the file is unchanged between two checks, so that a partly
/// written file is not read.
package struct FileChanges: Sendable {
    private var known: [String: FileVersion?] = [:]
    private var pending: [String: FileVersion?] = [:]

    /// Creates a detector whose reference is the current content of the files.
    package init(_ paths: [String]) { reset(paths) }

    /// Replaces the watched files. The reference is their current content.
    package mutating func reset(_ paths: [String]) {
        known = Self.versions(paths)
        pending = known
    }

    /// Checks the files, for example every second. Returns true if changed content must be read.
    package mutating func look() -> Bool {
        let current = Self.versions(Array(known.keys))
        defer { pending = current }
        guard current != known, current == pending else { return false }
        known = current
        return true
    }

    private static func versions(_ paths: [String]) -> [String: FileVersion?] {
        Dictionary(paths.map { ($0, FileVersion(path: $0)) }, uniquingKeysWith: { first, _ in first })
    }
}

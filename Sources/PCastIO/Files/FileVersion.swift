internal import Glibc

/// Which content a path leads to, without reading it: another one when the file was written anew, replaced, or when a link
/// on the way leads elsewhere.
public struct FileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// - Returns: nil where there is no file.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}

/// Sees when files have become others, and have stayed so for one look, so that one that is being written is left alone.
public struct FileChanges: Sendable {
    private var known: [String: FileVersion?] = [:]
    private var pending: [String: FileVersion?] = [:]

    /// - Parameter paths: of files whose content is known.
    public init(_ paths: [String]) { reset(paths) }

    /// Those are known as they are now.
    public mutating func reset(_ paths: [String]) {
        known = Self.versions(paths)
        pending = known
    }

    /// One look, as every second; true when there is something new to read.
    public mutating func look() -> Bool {
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

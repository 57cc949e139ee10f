import CLinux
import Glibc

/// A file inside a folder that is opened when it is checked. Later changes of its path, such as a new symbolic link,
/// have no effect.
package struct FolderFile: Sendable {
    /// A path that opens the checked file even if its name refers to another one by then.
    package let path: String
    private let descriptor: Descriptor

    /// Opens the file at an absolute path, and creates it if `isWritten` is true. Nil if it does not exist, is not
    /// inside the folder, is not a regular file, or is to be written but has several hard links.
    package init?(_ path: String, in folder: String, isWritten: Bool) {
        guard let root = Self.resolved(folder), let location = Self.location(of: path, isWritten: isWritten),
            let directory = Self.directory(location.folder, within: root)
        else { return nil }
        let flags = (isWritten ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        guard let descriptor = try? Descriptor(openat(directory.number, location.name, flags, 0o644), from: "openat")
        else { return nil }
        var status = stat()
        // Another hard link of the file may be outside the folder.
        guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            !isWritten || status.st_nlink == 1
        else { return nil }
        self.descriptor = descriptor
        self.path = "/proc/self/fd/\(descriptor.number)"
    }

    /// Returns the resolved folder of a path and the name in it. A symbolic link to a file is followed for reading
    /// only.
    private static func location(of path: String, isWritten: Bool) -> (folder: String, name: String)? {
        guard let (folder, name) = parts(of: path), !name.isEmpty, name != "..", name != ".", !path.utf8.contains(0)
        else { return nil }
        if !isWritten { return resolved(path).flatMap { parts(of: $0) } }
        return resolved(folder + "/").map { ($0, name) }
    }

    /// Returns the parts before and after the last slash; nil without a slash.
    private static func parts(of path: String) -> (folder: String, name: String)? {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }

    /// Opens a folder and then checks its location, so that a change between the two steps has no effect.
    private static func directory(_ path: String, within root: String) -> Descriptor? {
        let number = open(path.isEmpty ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard let directory = try? Descriptor(number, from: "open"),
            let location = resolved("/proc/self/fd/\(directory.number)"),
            (location + "/").utf8.starts(with: (root + "/").utf8)
        else { return nil }
        return directory
    }

    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

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

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

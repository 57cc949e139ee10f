import CLinux
import Glibc

/// A file within a folder, opened where it was checked: what is put at its name or at a folder's above it afterwards, such
/// as a symbolic link, changes nothing.
package struct FolderFile: Sendable {
    /// Opens what was checked, whatever stands at its name by then.
    package let path: String
    private let descriptor: Descriptor

    /// - Parameters:
    ///   - path: absolute.
    ///   - isWritten: whether it is made where it is not there.
    /// - Returns: nil for what is not there, not within the folder, or no file.
    package init?(_ path: String, in folder: String, isWritten: Bool) {
        guard let root = Self.resolved(folder), let place = Self.place(of: path, isWritten: isWritten),
            let directory = Self.directory(place.folder, within: root)
        else { return nil }
        let flags = (isWritten ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        guard let descriptor = try? Descriptor(openat(directory.number, place.name, flags, 0o644), from: "openat")
        else { return nil }
        var status = stat()
        // Of a file with several names another may be outside.
        guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            !isWritten || status.st_nlink == 1
        else { return nil }
        self.descriptor = descriptor
        self.path = "/proc/self/fd/\(descriptor.number)"
    }

    /// The real folder of a path, and the name in it. A link to a file is that file when it is read, and nothing when it is
    /// written.
    ///
    /// The kernel takes a path apart by bytes, and so is it here: a combining character behind a slash makes another
    /// character of both.
    private static func place(of path: String, isWritten: Bool) -> (folder: String, name: String)? {
        guard let (folder, name) = parts(of: path), !name.isEmpty, name != "..", name != ".", !path.utf8.contains(0)
        else { return nil }
        if !isWritten { return resolved(path).flatMap { parts(of: $0) } }
        return resolved(folder + "/").map { ($0, name) }
    }

    /// What stands before the last slash, and behind it; nil without a slash.
    private static func parts(of path: String) -> (folder: String, name: String)? {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
    }

    /// Opens a folder, and looks at where it is only then.
    private static func directory(_ path: String, within root: String) -> Descriptor? {
        let number = open(path.isEmpty ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard let directory = try? Descriptor(number, from: "open"),
            let place = resolved("/proc/self/fd/\(directory.number)"),
            (place + "/").utf8.starts(with: (root + "/").utf8)
        else { return nil }
        return directory
    }

    private static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}

import Foundation
import Glibc
package import PCastCore

/// The names in the folder of a recording.
package struct RecordingFolder: Hashable, Sendable {
    /// The folder of all recordings.
    package let root: String
    /// The stream of the recording.
    package let stream: StreamID

    /// The longest name of a folder (`NAME_MAX` of Linux).
    private static let maximumName = 255

    /// Creates the names of a stream's recording.
    package init(root: String, stream: StreamID) {
        self.root = root
        self.stream = stream
    }

    /// Returns the names of the recording whose folder has a name; nil if the name is not one of a stream.
    package init?(root: String, name: String) {
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let first = rest.popFirst() {
            guard first == UInt8(ascii: "%") else {
                bytes.append(first)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        self.init(root: root, stream: StreamID(String(decoding: bytes, as: UTF8.self)))
        guard self.name == name else { return nil }
    }

    /// The name of the folder: the stream with `%` and two digits for bytes that are not letters, digits, `-` or `_`.
    package var name: String {
        stream.description.utf8.map { byte -> String in
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            let digits = String(byte, radix: 16)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.utf8.count < 2 ? "0" : "") + digits
        }.joined()
    }

    /// The path of the folder.
    package var path: String { "\(root)/\(name)" }

    /// Whether there is a directory of that name. A symbolic link is none.
    package var isDirectory: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether the file system can store a folder of the name.
    var isUsable: Bool { !name.isEmpty && name.utf8.count <= Self.maximumName }

    /// The name of a file.
    package struct FileName: Hashable, Sendable {
        /// The number of the epoch.
        package var epoch: Int
        /// The name of the rendition.
        package var rendition: String
        /// The number of the file, from 0 for each rendition of an epoch.
        package var number: Int

        /// Creates a name.
        package init(epoch: Int, rendition: String, number: Int) {
            self.epoch = epoch
            self.rendition = rendition
            self.number = number
        }

        /// Parses a name; nil if a recording has no such file.
        package init?(_ text: String) {
            let fields = text.split(separator: ".", omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2] == "mp4" else { return nil }
            let numbers = fields[1].split(separator: "-", omittingEmptySubsequences: false)
            guard numbers.count == 2, let epoch = Int(numbers[0]), let number = Int(numbers[1]) else { return nil }
            guard (0..<1 << 20).contains(epoch), (0..<1 << 30).contains(number) else { return nil }
            self.init(epoch: epoch, rendition: String(fields[0]), number: number)
            guard self.text == text else { return nil }
        }

        /// The name.
        package var text: String { "\(rendition).\(epoch)-\(number).mp4" }
    }

    /// Returns the path of a file.
    package func path(of file: FileName) -> String { "\(path)/\(file.text)" }

    /// The files of the recording, sorted by rendition, epoch and number. Other files are left out.
    ///
    /// - Throws: ``RecordingError``.
    package func files() throws(RecordingError) -> [FileName] {
        try Directory.names(path).compactMap { FileName($0) }.sorted {
            ($0.rendition, $0.epoch, $0.number) < ($1.rendition, $1.epoch, $1.number)
        }
    }

    /// Whether a file is on the disk.
    package func contains(_ file: FileName) -> Bool { access(path(of: file), F_OK) == 0 }

    /// Removes a file. It does nothing if there is none.
    ///
    /// - Throws: ``RecordingError``.
    package func remove(_ file: FileName) throws(RecordingError) {
        let path = path(of: file)
        guard unlink(path) == 0 || errno == ENOENT else { throw .system(path) }
    }

    /// Removes the files of the recording, and the folder if nothing else is in it. It does nothing if they do not exist.
    ///
    /// - Throws: ``RecordingError``.
    package func remove() throws(RecordingError) {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return }
        for file in try files() { try remove(file) }
        guard rmdir(path) == 0 || errno == ENOENT || errno == ENOTEMPTY else { throw .system(path) }
    }
}

/// Operations on directories.
enum Directory {
    /// Returns the names in a directory.
    ///
    /// - Throws: ``RecordingError``.
    static func names(_ path: String) throws(RecordingError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw .inaccessible(path: path, reason: "the folder cannot be read")
        }
    }

    /// Creates a directory with those above it, readable by the owner only, unless it exists. New directories are on the
    /// disk then, because a loss of power would otherwise remove everything that is in them.
    ///
    /// - Throws: ``RecordingError``.
    static func make(_ path: String) throws(RecordingError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let parent = made.isEmpty ? "/" : made
            made += "/" + part
            guard mkdir(made, 0o700) == 0 else {
                if errno == EEXIST { continue }
                throw .system(made)
            }
            // A directory that may not be read cannot be synced.
            if access(parent, R_OK) == 0 { try sync(parent) }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system(path) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .inaccessible(path: path, reason: "it is not a folder: name another one")
        }
        guard access(path, W_OK | X_OK) == 0 else { throw .system(path) }
    }

    /// Waits until the entries of a directory are on the disk.
    ///
    /// - Throws: ``RecordingError``.
    static func sync(_ path: String) throws(RecordingError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(path) }
    }

    /// Returns the bytes that a user may still write to the file system of a path.
    ///
    /// - Throws: ``RecordingError``.
    static func freeSpace(_ path: String) throws(RecordingError) -> Int64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw .system(path) }
        let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflows ? .max : Int64(clamping: bytes)
    }
}

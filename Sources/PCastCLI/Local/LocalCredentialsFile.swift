import Foundation

/// The files with ``LocalCredentials``. Each running platform has one with the name of its process identifier and mode
/// 0600.
struct LocalCredentialsFile {
    private static let maximumSize = 4096

    let path: String

    /// Writes the credentials of a running platform.
    ///
    /// - Throws: ``CommandFailure``.
    static func write(
        _ credentials: LocalCredentials, in directory: RuntimeDirectory
    ) throws(CommandFailure) -> LocalCredentialsFile {
        try directory.prepare()
        let file = LocalCredentialsFile(path: "\(directory.path)/\(credentials.pid).json")
        unlink(file.path)  // An earlier process with the same identifier may have left a file.
        guard let data = try? JSONEncoder().encode(credentials) else {
            preconditionFailure("credentials must be encodable as JSON")
        }
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0,
            (try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: data)) != nil
        else { throw CommandFailure(.failed, "\(file.path) cannot be written: \(String(cString: strerror(errno))).") }
        return file
    }

    /// The credentials; nil if the file belongs to another user, is readable by others, or is invalid.
    var credentials: LocalCredentials? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == getuid(),
            status.st_mode & 0o077 == 0, let data = try? handle.read(upToCount: Self.maximumSize)
        else { return nil }
        return try? JSONDecoder().decode(LocalCredentials.self, from: data)
    }

    /// Removes the file if it still belongs to that process.
    func remove(ifOf pid: Int32) {
        if credentials?.pid == pid { unlink(path) }
    }

    /// Returns the credentials of the running platforms, newest first, and removes the files of processes that have
    /// ended.
    static func running(in directory: RuntimeDirectory) -> [LocalCredentials] {
        guard directory.isPrivate, let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
        else { return [] }
        var found: [(credentials: LocalCredentials, written: Date)] = []
        for name in names where name.hasSuffix(".json") {
            let file = LocalCredentialsFile(path: "\(directory.path)/\(name)")
            guard let credentials = file.credentials else { continue }
            guard credentials.isAlive else {
                file.remove(ifOf: credentials.pid)
                continue
            }
            let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
            found.append((credentials, attributes?[.modificationDate] as? Date ?? .distantPast))
        }
        return found.sorted { $0.written > $1.written }.map(\.credentials)
    }
}

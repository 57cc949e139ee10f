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

/// The URI and credentials of a platform on this host, which its user's other programs read. They need no options then.
struct LocalCredentials: Codable, Equatable {
    let uri: String
    let applicationId: String
    let secret: String
    /// The process identifier of the platform. The credentials are only valid while it runs.
    let pid: Int32

    var application: ApplicationArgument { ApplicationArgument(id: applicationId, secret: secret) }

    /// Whether the process of the platform exists.
    var isAlive: Bool { pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) }
}

/// The text forms do not contain the secret, so that logs do not reveal it.
extension LocalCredentials: CustomStringConvertible, CustomReflectable {
    var description: String { "\(applicationId) at \(uri)" }

    var customMirror: Mirror { Mirror(self, children: ["uri": uri, "applicationId": applicationId]) }
}

/// The directory in which this user's running programs find each other. It has mode 0700.
struct RuntimeDirectory {
    let path: String

    init(path: String) { self.path = path }

    /// Returns `$XDG_RUNTIME_DIR/pcast`, or `/run/user/UID/pcast`, or `/tmp/pcast-UID` if neither parent exists.
    static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> RuntimeDirectory {
        if let base = environment["XDG_RUNTIME_DIR"], base.hasPrefix("/"), isDirectory(base) {
            return RuntimeDirectory(path: base + "/pcast")
        }
        let base = "/run/user/\(getuid())"
        return RuntimeDirectory(path: isDirectory(base) ? base + "/pcast" : "/tmp/pcast-\(getuid())")
    }

    /// Creates the directory if it is missing.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be created or others can enter it. Another user may have created it in
    ///   `/tmp`.
    func prepare() throws(CommandFailure) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw CommandFailure(
                .failed, "The directory \(path) cannot be created: \(String(cString: strerror(errno))).")
        }
        guard isPrivate else {
            throw CommandFailure(.failed, "\(path) is not a directory with mode 0700 of this user: remove it.")
        }
    }

    /// Whether this is a directory of this user, not a link, that nobody else can enter.
    var isPrivate: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == getuid()
            && status.st_mode & 0o077 == 0
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

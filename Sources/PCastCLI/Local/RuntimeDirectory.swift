import Foundation

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

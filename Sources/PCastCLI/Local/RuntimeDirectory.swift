import Foundation

/// The directory of this user's own where running programs find each other: mode 0700, nobody else's.
struct RuntimeDirectory {
    let path: String

    init(path: String) { self.path = path }

    /// `$XDG_RUNTIME_DIR/pcast`, `/run/user/UID/pcast`, or `/tmp/pcast-UID` where there is neither.
    static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> RuntimeDirectory {
        if let base = environment["XDG_RUNTIME_DIR"], base.hasPrefix("/"), isDirectory(base) {
            return RuntimeDirectory(path: base + "/pcast")
        }
        let base = "/run/user/\(getuid())"
        return RuntimeDirectory(path: isDirectory(base) ? base + "/pcast" : "/tmp/pcast-\(getuid())")
    }

    /// Makes the directory where it is missing. Throws when it is not a directory that only this user can enter, as
    /// somebody else may have made one of that name in `/tmp`.
    func prepare() throws(CommandFailure) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw CommandFailure(.failed, "The directory \(path) cannot be made: \(String(cString: strerror(errno))).")
        }
        guard isPrivate else {
            throw CommandFailure(.failed, "\(path) is not a directory of yours alone (mode 0700): remove it.")
        }
    }

    /// A directory of this user's that nobody else can enter, and no link to one.
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

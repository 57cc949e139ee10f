internal import GRDB

/// An error of the database. Its text says what to do.
public enum RecordsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The disk is full.
    case full(path: String)
    /// The file is not a database or is damaged.
    case corrupt(path: String, reason: String)
    /// The directory or a file in it cannot be created, opened or written.
    case inaccessible(path: String, reason: String)
    /// Another platform uses the directory.
    case inUse(path: String)
    /// A newer version of this program wrote the database.
    case newer(path: String)
    /// The key that encrypts secrets is missing or wrong.
    case key(path: String, reason: String)
    /// A request contradicts the data, which is a programming error.
    case rejected(reason: String)

    /// The error and its remedy in English.
    public var description: String {
        switch self {
        case .full(let path): "the disk is full, so \(path) cannot be written: free some space"
        case .corrupt(let path, let reason):
            "\(path) is corrupt (\(reason)): restore it from a backup, or move it away to start with an empty one"
        case .inaccessible(let path, let reason): "\(path) cannot be used: \(reason)"
        case .inUse(let path): "another platform uses \(path): give each platform its own directory"
        case .newer(let path): "\(path) was written by a later version of this program: use that version"
        case .key(let path, let reason): "the key \(path) does not decrypt the secrets in the database: \(reason)"
        case .rejected(let reason): "the database rejected a change: \(reason)"
        }
    }

    /// Whether the error is one of the storage and not of the change, so that the same operation may succeed later.
    public var isOfTheDisk: Bool {
        if case .rejected = self { false } else { true }
    }
}

extension RecordsError {
    /// Converts an error of SQLite (sqlite.org/rescode.html) or another error.
    init(_ error: any Error, path: String) {
        if let error = error as? RecordsError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .rejected(reason: "\(error)")
            return
        }
        let reason = error.message ?? "\(error.resultCode)"
        switch error.resultCode {
        case .SQLITE_FULL: self = .full(path: path)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .corrupt(path: path, reason: reason)
        case .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_NOMEM,
            .SQLITE_PROTOCOL:
            self = .inaccessible(path: path, reason: reason)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .inUse(path: path)
        default: self = .rejected(reason: reason)
        }
    }
}

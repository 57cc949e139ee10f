internal import GRDB

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

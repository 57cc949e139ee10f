import Foundation
import Glibc
import HTTPTypes
import Logging
import PCastCore
import PCastIO
import PCastJSON
import PCastJWT
import Synchronization

/// The record of the requests that change something by the management API: who, when, from where, and with which result.
///
/// With a data directory, it is the file `audit.log` there, one JSON object per line, which only the platform's user can
/// read. A file of ``sizeLimit`` becomes `audit.log.1`, and replaces the one before. Without a directory, the record is in the
/// platform's log. The newest entries are also in memory.
final class AuditLog: Sendable {
    /// The size of a file in bytes beyond which a new one begins.
    static let sizeLimit = 16 << 20

    /// The file name in the data directory.
    static let name = "audit.log"

    /// An entry of the record.
    struct Entry: Codable, Hashable, Sendable {
        let time: String
        let application: String
        let role: String
        let credentials: String
        /// The subject of a JSON Web Token; nil if there is none.
        let subject: String?
        let address: String
        let method: String
        let path: String
        let status: Int

        /// Whether the request was for a change. Requests for tokens and reports change nothing that an operator looks for,
        /// and the dashboard's previews request many tokens.
        var isChange: Bool {
            !(method == "POST" && ["/pcast/stream", "/pcast/auth"].contains(path))
                && !path.hasPrefix("/pcast/reporting/")
        }
    }

    /// The number of changes that are in memory.
    static let recentCapacity = 1_000

    /// The size of the end of the file, from which the newest changes are read at the start.
    private static let readLimit = 1 << 20

    private struct State {
        /// The newest changes, oldest first.
        var recent: [Entry] = []
        var descriptor: Int32 = -1
        var size = 0
    }

    private let path: String?
    private let limit: Int
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a record. `directory` is the data directory, nil for none.
    init(directory: String?, limit: Int = sizeLimit, logger: Logger) {
        path = directory.map { "\($0)/\(Self.name)" }
        self.limit = limit
        self.logger = logger
        guard let path else { return }
        let recent = Self.read(path)
        state.withLock { $0.recent = recent }
    }

    /// Returns the newest changes of a file, oldest first. Lines that are not entries are left out.
    private static func read(_ path: String) -> [Entry] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        guard let size = try? file.seekToEnd() else { return [] }
        try? file.seek(toOffset: size > UInt64(readLimit) ? size - UInt64(readLimit) : 0)
        guard let data = try? file.read(upToCount: readLimit) else { return [] }
        let entries = data.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(Entry.self, from: Data($0))
        }
        return entries.filter(\.isChange).suffix(recentCapacity)
    }

    /// Returns the newest changes of an application, or of all for nil, newest first.
    func recent(of application: ApplicationID?, length: Int) -> [Entry] {
        let entries = state.withLock { $0.recent }
        return Array(
            entries.reversed().lazy.filter { application == nil || $0.application == application?.description }
                .prefix(length))
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    /// Records a request with the status of its response.
    func record(_ request: ApplicationRequest, status: Int) {
        record(request.author, of: request.application, request.role, status: status)
    }

    /// Records a request of an author for an application.
    func record(_ author: RequestAuthor, of application: ApplicationID, _ role: AdministrationRole, status: Int) {
        logger.notice(
            "administration",
            metadata: [
                "application": "\(application)", "role": "\(role.rawValue)",
                "credentials": "\(author.credentials.rawValue)", "subject": "\(author.subject ?? "")",
                "address": "\(author.address)", "method": "\(author.method)", "path": "\(author.path)",
                "status": "\(status)",
            ])
        let made = Entry(
            time: Timestamp.text(MonotonicClock.wallTime()), application: application.description, role: role.rawValue,
            credentials: author.credentials.rawValue, subject: author.subject, address: author.address,
            method: author.method, path: author.path, status: status)
        if made.isChange {
            state.withLock { state in
                state.recent.append(made)
                // The oldest ones are removed together, because each removal moves the others.
                if state.recent.count >= Self.recentCapacity * 2 {
                    state.recent.removeFirst(state.recent.count - Self.recentCapacity)
                }
            }
        }
        guard let path else { return }
        var entry = JSONObject()
        entry["time"] = .string(made.time)
        entry["application"] = .string(made.application)
        entry["role"] = .string(made.role)
        entry["credentials"] = .string(made.credentials)
        if let subject = made.subject { entry["subject"] = .string(subject) }
        entry["address"] = .string(made.address)
        entry["method"] = .string(made.method)
        entry["path"] = .string(made.path)
        entry["status"] = .integer(Int64(status))
        let line = Array((entry.text + "\n").utf8)
        let failure = state.withLock { state in write(line, to: path, &state) }
        if let failure {
            logger.error(
                "the audit log cannot be written: free space, or correct the permissions of the data directory",
                metadata: ["path": "\(path)", "error": "\(failure)"])
        }
    }

    /// Appends a line. Returns the error of the system; nil for success.
    private func write(_ line: [UInt8], to path: String, _ state: inout State) -> String? {
        if state.descriptor >= 0, state.size + line.count > limit {
            close(state.descriptor)
            state = State()
            guard rename(path, path + ".1") == 0 else { return String(cString: strerror(errno)) }
        }
        if state.descriptor < 0 {
            state.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard state.descriptor >= 0 else { return String(cString: strerror(errno)) }
            state.size = max(0, Int(lseek(state.descriptor, 0, SEEK_END)))
        }
        let written = Glibc.write(state.descriptor, line, line.count)
        guard written == line.count else {
            // The next line must not continue an incomplete one.
            let error = written < 0 ? String(cString: strerror(errno)) : "the disk is full"
            ftruncate(state.descriptor, off_t(state.size))
            return error
        }
        state.size += line.count
        return nil
    }
}

/// The sender of a request of the management API, for the audit log.
struct RequestAuthor: Sendable {
    /// The form of the credentials.
    enum Credentials: String, Sendable {
        /// The secret of the application.
        case secret
        /// A login of the dashboard, which the secret or a JSON Web Token has opened.
        case dashboard
        /// A JSON Web Token.
        case token
    }

    /// The maximum size of texts of the client in bytes; longer ones are cut.
    private static let textLimit = 512

    let credentials: Credentials
    /// The subject of the JSON Web Token (`sub`), also of one that has opened a login; nil for a secret, or if absent.
    let subject: String?
    let address: String
    let method: String
    /// The path without the query.
    let path: String

    /// Creates an author.
    init(_ credentials: Credentials, subject: String? = nil, address: String, method: String, path: String) {
        self.credentials = credentials
        self.subject = subject.map(Self.bounded)
        self.address = address
        self.method = method
        self.path = Self.bounded(path)
    }

    private static func bounded(_ text: String) -> String {
        text.utf8.count <= textLimit ? text : String(decoding: Array(text.utf8.prefix(textLimit)), as: UTF8.self)
    }
}

import Glibc
import Logging
import PCastJSON
import PCastTimeline

/// The log of a game on disk: a line with the identifier of the log, then a line of JSON for each revision. Where a node of a
/// cluster continues the log of another one, a line has the identifier of the new log. The file is append-only, and is replaced
/// if the home of the game has other revisions. A line is on the disk before consumers receive it. A line that is incomplete
/// because the platform ended is removed when the file is opened again.
final class TimelineFile: Sendable {
    let path: String
    private let descriptor: Int32

    private init(_ path: String, _ descriptor: Int32) { (self.path, self.descriptor) = (path, descriptor) }

    deinit { close(descriptor) }

    struct Contents: Sendable {
        var lineage: TimelineLineage
        var log: TimelineLog
        var file: TimelineFile
    }

    // MARK: Opening

    /// Opens a log; nil if it does not exist.
    ///
    /// - Throws: ``TimelineFailure``.
    static func open(_ path: String, logger: Logger) throws(TimelineFailure) -> Contents? {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path)
        }
        let file = TimelineFile(path, descriptor)
        let bytes = try file.read()
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        // Data after the last line feed is an incomplete line.
        let rest = lines.popLast() ?? []
        var kept = bytes.count - rest.count
        if !rest.isEmpty { logger.warning("an incomplete line was dropped", metadata: ["log": "\(path)"]) }
        guard let head = lines.popFirst(), let id = headID(Array(head)) else {
            // The platform ended while the file was created, so no consumer has received anything of it.
            guard lines.isEmpty else { throw .log(path: path, reason: "its first line is malformed") }
            unlink(path)
            return nil
        }
        var log = TimelineLog()
        var lineage = TimelineLineage(id)
        for (index, line) in zip(lines.indices, lines) {
            do {
                try log.append(try TimelineRevision(parsing: Array(line)))
            } catch {
                if let id = headID(Array(line)) {
                    lineage.begin(id, after: log.newest)
                    continue
                }
                guard index == lines.indices.last else {
                    throw .log(path: path, reason: "line \(index + 1) is malformed: \(error)")
                }
                kept -= line.count + 1
                logger.warning("an incomplete line was dropped", metadata: ["log": "\(path)"])
            }
        }
        if kept < bytes.count, ftruncate(descriptor, kept) != 0 { throw failure(path) }
        return Contents(lineage: lineage, log: log, file: file)
    }

    /// Creates a log.
    ///
    /// - Throws: ``TimelineFailure``, also if it exists.
    static func create(_ path: String, _ id: TimelineLogID, of game: TimelineGame) throws(TimelineFailure) -> Contents {
        let folders = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        for depth in folders.indices.dropFirst() {
            let folder = folders[...depth].joined(separator: "/")
            if mkdir(folder, 0o700) != 0, errno != EEXIST { throw failure(folder) }
        }
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let file = TimelineFile(path, descriptor)
        try file.append(head(id, game))
        syncFolder(of: path)
        return Contents(lineage: TimelineLineage(id), log: TimelineLog(), file: file)
    }

    /// Replaces the file by one with the revisions of a replica. After a crash, the path has the former or the new file.
    ///
    /// - Throws: ``TimelineFailure``.
    func replaced(by replica: TimelineReplica, of game: TimelineGame) throws(TimelineFailure) -> TimelineFile {
        guard let first = replica.lineage.forks.first else { return self }
        var bytes = Self.head(first.log, game) + [UInt8(ascii: "\n")]
        var forks = replica.lineage.forks.dropFirst()
        for revision in replica.log.revisions {
            while let fork = forks.first, fork.after < revision.number {
                bytes += Self.line(fork.log) + [UInt8(ascii: "\n")]
                forks.removeFirst()
            }
            bytes += revision.bytes + [UInt8(ascii: "\n")]
        }
        for fork in forks { bytes += Self.line(fork.log) + [UInt8(ascii: "\n")] }
        let fresh = path + ".new"
        let descriptor = Glibc.open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(fresh) }
        let file = TimelineFile(path, descriptor)
        bytes.removeLast()
        try file.append(bytes)
        guard rename(fresh, path) == 0 else { throw Self.failure(path) }
        Self.syncFolder(of: path)
        return file
    }

    /// Appends the identifier of a log that begins here.
    ///
    /// - Throws: ``TimelineFailure``.
    func append(_ id: TimelineLogID) throws(TimelineFailure) { try append(Self.line(id)) }

    private static func head(_ id: TimelineLogID, _ game: TimelineGame) -> [UInt8] {
        let head: JSONObject = [
            "log": .string(id.description), "league": .string(game.league), "game": .string(game.game),
        ]
        return head.bytes
    }

    private static func line(_ id: TimelineLogID) -> [UInt8] {
        let line: JSONObject = ["log": .string(id.description)]
        return line.bytes
    }

    /// Ensures that the directory entry of the file survives a power failure.
    private static func syncFolder(of path: String) {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func headID(_ line: [UInt8]) -> TimelineLogID? {
        (try? GameInfo(parsing: line))?.object["log"]?.string.map { TimelineLogID($0) }
    }

    private static func failure(_ path: String) -> TimelineFailure {
        .log(path: path, reason: String(cString: strerror(errno)))
    }

    // MARK: Bytes

    private func read() throws(TimelineFailure) -> [UInt8] {
        let size = Int(lseek(descriptor, 0, SEEK_END))
        guard size >= 0 else { throw Self.failure(path) }
        var bytes = [UInt8](repeating: 0, count: size)
        var offset = 0
        while offset < size {
            let count = bytes.withUnsafeMutableBytes { raw in
                pread(descriptor, raw.baseAddress! + offset, raw.count - offset, offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path) }
            if count == 0 { break }
            offset += count
        }
        return Array(bytes.prefix(offset))
    }

    /// Appends a line. Returns when it is on the disk. A line that cannot be written completely is removed.
    ///
    /// - Throws: ``TimelineFailure``.
    func append(_ line: [UInt8]) throws(TimelineFailure) {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw Self.failure(path) }
        let bytes = line + [UInt8(ascii: "\n")]
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                pwrite(descriptor, raw.baseAddress! + offset, raw.count - offset, end + offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return try undo(to: end) }
            offset += count
        }
        guard fdatasync(descriptor) == 0 else { return try undo(to: end) }
    }

    private func undo(to end: Int) throws(TimelineFailure) {
        let failure = Self.failure(path)
        ftruncate(descriptor, end)
        throw failure
    }
}

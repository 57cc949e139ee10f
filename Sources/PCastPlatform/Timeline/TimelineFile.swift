import Glibc
import Logging
import PCastJSON
import PCastTimeline

/// The log of one game on disk: a line that says which log it is, and a line of JSON for each revision. Only grows. A line is
/// on the disk before anybody is told of it, and one that was cut by the end of the platform is taken away when it is opened
/// again.
final class TimelineFile: Sendable {
    let path: String
    private let descriptor: Int32

    private init(_ path: String, _ descriptor: Int32) { (self.path, self.descriptor) = (path, descriptor) }

    deinit { close(descriptor) }

    struct Contents: Sendable {
        var id: TimelineLogID
        var log: TimelineLog
        var file: TimelineFile
    }

    // MARK: Opening

    /// - Returns: nil where there is none.
    static func open(_ path: String, logger: Logger) throws(TimelineFailure) -> Contents? {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path)
        }
        let file = TimelineFile(path, descriptor)
        let bytes = try file.read()
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        // Behind the last line's end there is nothing, unless that line was cut.
        let rest = lines.popLast() ?? []
        var kept = bytes.count - rest.count
        if !rest.isEmpty { logger.warning("a torn line was dropped", metadata: ["log": "\(path)"]) }
        guard let head = lines.popFirst(), let id = headID(Array(head)) else {
            // The platform ended while it was made: nobody was told of anything.
            guard lines.isEmpty else { throw .log(path: path, reason: "its first line is broken") }
            unlink(path)
            return nil
        }
        var log = TimelineLog()
        for (index, line) in zip(lines.indices, lines) {
            do {
                try log.append(try TimelineRevision(parsing: Array(line)))
            } catch {
                guard index == lines.indices.last else {
                    throw .log(path: path, reason: "line \(index + 1) is broken: \(error)")
                }
                kept -= line.count + 1
                logger.warning("a torn line was dropped", metadata: ["log": "\(path)"])
            }
        }
        if kept < bytes.count, ftruncate(descriptor, kept) != 0 { throw failure(path) }
        return Contents(id: id, log: log, file: file)
    }

    /// Begins a log where there is none.
    static func create(_ path: String, _ id: TimelineLogID, of game: TimelineGame) throws(TimelineFailure) -> Contents {
        let folders = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        for depth in folders.indices.dropFirst() {
            let folder = folders[...depth].joined(separator: "/")
            if mkdir(folder, 0o700) != 0, errno != EEXIST { throw failure(folder) }
        }
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let file = TimelineFile(path, descriptor)
        let head: JSONObject = [
            "log": .string(id.description), "league": .string(game.league), "game": .string(game.game),
        ]
        try file.append(head.bytes)
        syncFolder(of: path)
        return Contents(id: id, log: TimelineLog(), file: file)
    }

    /// So that the file itself is there after a loss of power.
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
        var place = 0
        while place < size {
            let count = bytes.withUnsafeMutableBytes { raw in
                pread(descriptor, raw.baseAddress! + place, raw.count - place, place)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path) }
            if count == 0 { break }
            place += count
        }
        return Array(bytes.prefix(place))
    }

    /// Writes a line, and returns when it is on the disk. What could not be written whole is taken away again.
    func append(_ line: [UInt8]) throws(TimelineFailure) {
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { throw Self.failure(path) }
        let bytes = line + [UInt8(ascii: "\n")]
        var place = 0
        while place < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                pwrite(descriptor, raw.baseAddress! + place, raw.count - place, end + place)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return try undo(to: end) }
            place += count
        }
        guard fdatasync(descriptor) == 0 else { return try undo(to: end) }
    }

    private func undo(to end: Int) throws(TimelineFailure) {
        let failure = Self.failure(path)
        ftruncate(descriptor, end)
        throw failure
    }
}

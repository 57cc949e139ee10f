import Dispatch
import Glibc
package import PCastPackaging
import Synchronization

/// Stores the segments of rewind windows in files, on one serial queue outside of the threads of media.
///
/// The files have no names, so the kernel frees their space when nothing refers to them any more: when their segments have
/// left the window, when the stream has ended, and when the platform ends or is killed. A failure changes nothing: the
/// segments remain in memory, and are stored later.
package final class WindowStorage: Sendable {
    /// A change, of which there is one message.
    package enum Event: Sendable {
        /// Segments cannot be stored. They remain in memory.
        case failed(RecordingError)
        /// Segments are stored again.
        case recovered
    }

    private struct State {
        /// The bytes that wait to be written.
        var waitingSize = 0
        /// The time of the last failure; nil if the last write succeeded.
        var failed: ContinuousClock.Instant?
    }

    private let folder: String
    private let reserve: Int64
    private let retryInterval: Duration
    private let onEvent: @Sendable (Event) -> Void
    private let queue = DispatchQueue(label: "rewind", qos: .utility)
    private let state = Mutex(State())
    private let usedSize = StoredSize()

    /// The beginning of the names that files have for an instant.
    private static let prefix = "window-"
    /// The bytes that may wait to be written.
    private static let queueSize = 64 << 20

    /// Opens a folder for files without names, and creates it if it does not exist. Files that a killed platform left are
    /// removed.
    ///
    /// - Parameters:
    ///   - folder: The folder, which no other platform uses.
    ///   - reserve: The free space of the file system, in bytes, below which nothing is stored.
    ///   - retryInterval: The time after a failure in which nothing is stored.
    ///   - onEvent: Receives events. It must not wait.
    /// - Throws: ``RecordingError``.
    package init(
        folder: String, reserve: Int64, retryInterval: Duration = .seconds(60),
        onEvent: @escaping @Sendable (Event) -> Void
    ) throws(RecordingError) {
        self.folder = folder
        self.reserve = reserve
        self.retryInterval = retryInterval
        self.onEvent = onEvent
        try Directory.make(folder)
        for name in try Directory.names(folder) where name.hasPrefix(Self.prefix) { unlink("\(folder)/\(name)") }
    }

    /// The bytes of all files.
    package var size: Int { usedSize.value.load(ordering: .relaxed) }

    /// Whether segments can be stored now: nothing failed recently, and the disk is not too slow.
    package var isReady: Bool {
        state.withLock { state in
            guard state.waitingSize < Self.queueSize else { return false }
            return state.failed.map { ContinuousClock.now - $0 >= retryInterval } ?? true
        }
    }

    /// Returns when everything that waits was written or has failed.
    package func flush() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    /// Stores segments of a stream.
    ///
    /// - Parameters:
    ///   - segments: The segments.
    ///   - files: The files of the stream.
    ///   - completion: Receives the media of the segments that were stored, and the segments that were not.
    package func store(
        _ segments: [UnstoredSegment], in files: WindowFiles,
        _ completion: @escaping @Sendable (_ stored: [(UnstoredSegment, StoredMedia)], [UnstoredSegment]) -> Void
    ) {
        let size = segments.reduce(0) { $0 + $1.size }
        state.withLock { $0.waitingSize += size }
        queue.async { [self] in
            var stored: [(UnstoredSegment, StoredMedia)] = []
            do throws(RecordingError) {
                for segment in segments { stored.append((segment, try write(segment, in: files))) }
                noteSuccess()
            } catch {
                noteFailure(error)
            }
            completion(stored, Array(segments.dropFirst(stored.count)))
            state.withLock { $0.waitingSize -= size }
        }
    }

    private func write(_ segment: UnstoredSegment, in files: WindowFiles) throws(RecordingError) -> StoredMedia {
        let size = segment.size
        guard try Directory.freeSpace(folder) - Int64(size) >= reserve else { throw .full(path: folder) }
        let file = try files.file { () throws(RecordingError) in try WindowFile(in: folder, Self.prefix, usedSize) }
        do throws(RecordingError) {
            let offset = try file.append(segment.fragments)
            return StoredMedia(size: size, belongsToWindow: true) { try file.read(from: offset, count: size) }
        } catch {
            files.discard()
            throw error
        }
    }

    private func noteSuccess() {
        let hadFailed = state.withLock { state in
            defer { state.failed = nil }
            return state.failed != nil
        }
        if hadFailed { onEvent(.recovered) }
    }

    private func noteFailure(_ error: RecordingError) {
        let hadFailed = state.withLock { state in
            defer { state.failed = ContinuousClock.now }
            return state.failed != nil
        }
        if !hadFailed { onEvent(.failed(error)) }
    }
}

/// The files of a stream's window. Only the queue of the storage uses the current one.
package final class WindowFiles: @unchecked Sendable {
    private let duration: Duration
    private let maximumSize: Int64
    private var current: WindowFile?
    private var began = ContinuousClock.now

    /// Creates files, each of which ends when it has a size and covers an eighth of the window. So few files are open, and
    /// little remains of segments that left the window.
    package init(window: Duration, maximumSize: Int64 = 64 << 20) {
        duration = window / 8
        self.maximumSize = maximumSize
    }

    /// Returns the file for the next segment.
    fileprivate func file(_ make: () throws(RecordingError) -> WindowFile) throws(RecordingError) -> WindowFile {
        if let current, current.size < maximumSize || ContinuousClock.now - began < duration { return current }
        current = nil
        let made = try make()
        (current, began) = (made, ContinuousClock.now)
        return made
    }

    /// Begins another file with the next segment.
    fileprivate func discard() { current = nil }
}

/// The bytes of files.
private final class StoredSize: Sendable {
    let value = Atomic(0)
}

/// A file without a name. It is written on one queue, and read on any thread.
private final class WindowFile: @unchecked Sendable {
    /// The bytes that were written completely.
    private(set) var size: Int64 = 0
    private let folder: String
    private let descriptor: Int32
    private let usedSize: StoredSize

    /// Creates a file.
    ///
    /// - Throws: ``RecordingError``.
    init(in folder: String, _ prefix: String, _ usedSize: StoredSize) throws(RecordingError) {
        self.folder = folder
        self.usedSize = usedSize
        let path = "\(folder)/\(prefix)\(UInt64.random(in: 0...(.max)))"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(folder) }
        guard unlink(path) == 0 else { throw .system(folder) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        usedSize.value.subtract(Int(size), ordering: .relaxed)
    }

    /// Appends bytes. Returns their offset.
    ///
    /// - Throws: ``RecordingError``. The file is then as before.
    func append(_ pieces: [[UInt8]]) throws(RecordingError) -> Int64 {
        let offset = size
        size = try FileBytes.append(pieces, to: descriptor, at: offset, folder)
        usedSize.value.add(Int(size - offset), ordering: .relaxed)
        return offset
    }

    /// Returns bytes that were written.
    ///
    /// - Throws: ``RecordingError``.
    func read(from offset: Int64, count: Int) throws(RecordingError) -> [UInt8] {
        let bytes = try FileBytes.read(count, from: descriptor, at: offset, folder)
        guard bytes.count == count else { throw .corrupt(path: folder) }
        return bytes
    }
}

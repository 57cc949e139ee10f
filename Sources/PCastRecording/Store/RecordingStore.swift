import Dispatch
import Glibc
package import PCastCore
package import PCastDatabase
package import PCastPackaging
import Synchronization

/// Writes the recordings of all streams on one serial queue, outside of the threads of media.
///
/// A caller never waits for the disk. Parts beyond ``RecordingLimits/queueSize`` are dropped, and their segments become
/// gaps.
package final class RecordingStore: @unchecked Sendable {  // `writers` and `timer` are used on the queue only
    /// An event, on the queue of the store.
    package enum Event: Sendable {
        /// Media are on the disk, and the index needs changes.
        case indexed([RecordingChange])
        /// Files are complete. All their media were indexed before.
        case completed([RecordedFile])
        /// The disk is too slow: parts of a stream were dropped.
        case dropped(StreamID)
        /// The recording of a stream ended; with the error if the stream has not ended. All its media were indexed before.
        case ended(StreamID, RecordingError?)
    }

    /// The folder of all recordings.
    package let root: String
    private let limits: RecordingLimits
    private let onEvent: @Sendable (Event) -> Void
    private let lock: FolderLock?
    private let queue = DispatchQueue(label: "recordings", qos: .utility)
    private var writers: [StreamID: RecordingWriter] = [:]
    private var timer: (any DispatchSourceTimer)?
    private let waitingSize = Atomic(0)
    /// The streams that are recorded, from `begin` to their event `ended`.
    private let active = Mutex<Set<StreamID>>([])

    /// Opens the folder of all recordings, and creates it if it does not exist.
    ///
    /// - Parameters:
    ///   - root: The folder.
    ///   - limits: The bounds.
    ///   - isShared: Whether other platforms may use the folder, so that it must be locked.
    ///   - onEvent: Receives events. It must not wait.
    /// - Throws: ``RecordingError``.
    package init(
        root: String, limits: RecordingLimits = RecordingLimits(), isShared: Bool = false,
        onEvent: @escaping @Sendable (Event) -> Void
    ) throws(RecordingError) {
        self.root = root
        self.limits = limits
        self.onEvent = onEvent
        try Directory.make(root)
        lock = try isShared ? FolderLock(root) : nil
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let interval = limits.syncInterval.components
        let nanoseconds = interval.seconds * 1_000_000_000 + interval.attoseconds / 1_000_000_000
        timer.schedule(
            deadline: .now() + .nanoseconds(Int(nanoseconds)), repeating: .nanoseconds(Int(nanoseconds)),
            leeway: .milliseconds(10))
        timer.setEventHandler { [weak self] in self?.syncAll() }
        timer.activate()
        self.timer = timer
    }

    deinit { timer?.cancel() }

    /// Whether a stream is recorded.
    package func isRecording(_ stream: StreamID) -> Bool { active.withLock { $0.contains(stream) } }

    /// The number of streams that are recorded.
    package var activeCount: Int { active.withLock { $0.count } }

    /// The bytes of parts that wait to be written.
    package var queuedSize: Int { waitingSize.load(ordering: .relaxed) }

    // MARK: Input

    /// Begins an epoch of a recording, after that of the same stream has ended.
    package func begin(_ identity: RecordingIdentity) {
        active.withLock { _ = $0.insert(identity.stream) }
        queue.async { [self] in
            do throws(RecordingError) {
                try checkReserve()
                writers[identity.stream] = try RecordingWriter(identity, in: root, limits)
            } catch {
                fail(identity.stream, error)
            }
        }
    }

    /// Appends parts of a stream. Parts of a stream that is not recorded are ignored.
    package func append(_ parts: [PublishedPart], to stream: StreamID) {
        guard !parts.isEmpty, isRecording(stream) else { return }
        let size = parts.reduce(0) { $0 + $1.part.bytes.count + PartHeader.size }
        guard waitingSize.load(ordering: .relaxed) + size <= limits.queueSize else { return onEvent(.dropped(stream)) }
        waitingSize.add(size, ordering: .relaxed)
        queue.async { [self] in
            defer { waitingSize.subtract(size, ordering: .relaxed) }
            guard let writer = writers[stream] else { return }
            do throws(RecordingError) {
                for part in parts { try writer.append(part) }
            } catch {
                fail(stream, error)
            }
        }
    }

    /// Ends the recording of a stream.
    package func finish(_ stream: StreamID) { queue.async { [self] in end(stream, nil) } }

    /// Syncs all files, and returns when this is done.
    package func sync() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                syncAll()
                continuation.resume()
            }
        }
    }

    /// Ends all recordings, and returns when this is done.
    package func finishAll() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                for stream in writers.keys { end(stream, nil) }
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func syncAll() {
        guard !writers.isEmpty else { return }
        do throws(RecordingError) {
            try checkReserve()
        } catch {
            for stream in writers.keys { fail(stream, error) }
            return
        }
        for (stream, writer) in writers {
            var changes: [RecordingChange] = []
            var failure: RecordingError?
            do throws(RecordingError) { try writer.sync(&changes) } catch { failure = error }
            report(changes, of: writer)
            if let failure { fail(stream, failure) }
        }
    }

    private func report(_ changes: [RecordingChange], of writer: RecordingWriter) {
        if !changes.isEmpty { onEvent(.indexed(changes)) }
        let files = writer.takeCompletedFiles()
        if !files.isEmpty { onEvent(.completed(files)) }
    }

    /// Checks that the file system has more free space than the reserve.
    private func checkReserve() throws(RecordingError) {
        guard try Directory.freeSpace(root) >= limits.reserve else { throw .full(path: root) }
    }

    private func fail(_ stream: StreamID, _ error: RecordingError) { end(stream, error) }

    private func end(_ stream: StreamID, _ error: RecordingError?) {
        var error = error
        if let writer = writers.removeValue(forKey: stream) {
            var changes: [RecordingChange] = []
            do throws(RecordingError) { try writer.finish(&changes) } catch let failure { error = error ?? failure }
            report(changes, of: writer)
        }
        let wasActive = active.withLock { $0.remove(stream) != nil }
        if wasActive { onEvent(.ended(stream, error)) }
    }
}

/// An exclusive lock of a folder. The kernel releases it when the process ends, also if it is killed.
private final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Locks a folder.
    ///
    /// - Throws: ``RecordingError/inUse(path:)``, or another ``RecordingError``.
    init(_ folder: String) throws(RecordingError) {
        let path = folder + "/.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .inUse(path: folder) }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // A child process between fork and exec has a copy of the descriptor. Closing alone would leave the lock to it.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

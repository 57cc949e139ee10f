import Logging
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastPackaging
import PCastRecording
import Synchronization

/// Records streams, and provides their recordings for playback.
final class RecordingService: Sendable {
    private struct Cached {
        let stream: RecordedStream
        /// The time from which on it is loaded again; nil if it does not change.
        let expiry: Instant?
        var lastUse: Instant
    }

    private struct State {
        var cache: [StreamID: Cached] = [:]
        /// The recordings that a killed platform left open, and whose streams may resume.
        var interrupted: Set<StreamID> = []
        /// The streams of which parts were dropped, for one warning each.
        var slow: Set<StreamID> = []
        /// The receivers of segments that are on the disk, with the epochs of the segments.
        var followers: [StreamID: (epoch: Int, receive: @Sendable (SegmentRecord) -> Void)] = [:]
        /// The epochs of the streams that are recorded.
        var epochs: [StreamID: Int] = [:]
    }

    let configuration: RecordingConfiguration
    let records: Records
    let writeQueue: DatabaseWriteQueue
    let logger: Logger
    /// The files; nil if nothing can be recorded.
    let store: RecordingStore?
    /// The object store to which recordings are uploaded; nil for none.
    let objects: RecordingObjects?
    private let state: SharedState
    /// More reads at the same time may wait for an object store than for a disk.
    private let reader: FileReadingQueue
    /// The recordings as MP4 files.
    let movies = RecordedMovieCache()

    /// The state, which the events of the store change.
    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    /// The maximum number of recordings in memory.
    private static let cacheLimit = 64
    /// The time for which the playlists of a running recording are valid.
    private static let liveLifetime = TimeSpan.seconds(1 as Int64)
    /// The capability of publishers whose streams are recorded.
    static let capability = "on-demand"

    /// Opens the folder of recordings.
    ///
    /// - Throws: ``PlatformError`` if the folder or the object store cannot be used.
    init(
        _ configuration: RecordingConfiguration, dataDirectory: String?, records: Records,
        writeQueue: DatabaseWriteQueue, logger: Logger
    ) throws(PlatformError) {
        self.configuration = configuration
        self.records = records
        self.writeQueue = writeQueue
        self.logger = logger
        let state = SharedState()
        self.state = state
        // The index of recordings is in the data directory.
        guard let dataDirectory else {
            store = nil
            objects = nil
            reader = FileReadingQueue()
            return
        }
        let objects: RecordingObjects? =
            if let upload = configuration.upload { try RecordingObjects(upload, records: records) } else { nil }
        self.objects = objects
        reader = FileReadingQueue(width: objects == nil ? 4 : 16)
        var limits = RecordingLimits()
        limits.reserve = configuration.reserve
        limits.syncInterval = configuration.syncInterval
        do throws(RecordingError) {
            store = try RecordingStore(
                root: configuration.directory ?? dataDirectory + "/recordings", limits: limits,
                isShared: configuration.directory != nil
            ) { event in
                RecordingService.handle(event, state, writeQueue, objects, logger)
            }
        } catch {
            throw .recordings("\(error)")
        }
    }

    /// Returns the path of a recording's multivariant playlist, which requires a token.
    static func path(of stream: StreamID) -> String { "\(RecordingRoutes.folder)/\(stream)/\(RecordingRoutes.index)" }

    private static func handle(
        _ event: RecordingStore.Event, _ state: SharedState, _ writeQueue: DatabaseWriteQueue,
        _ objects: RecordingObjects?, _ logger: Logger
    ) {
        switch event {
        case .indexed(let changes):
            for change in changes {
                if case .segments(let segments) = change { pass(segments, state) }
                writeQueue.note(.recording(change))
            }
        case .completed(let files):
            guard let objects else { return }
            let now = MonotonicClock.wallTime()
            for file in files { writeQueue.note(.recording(.upload(objects.upload(of: file), at: now))) }
        case .dropped(let stream):
            guard state.value.withLock({ $0.slow.insert(stream).inserted }) else { return }
            logger.warning(
                "parts of a recording were dropped: \(RecordingError.tooSlow)", metadata: ["stream": "\(stream)"])
        case .ended(let stream, let error):
            state.value.withLock { state in
                state.cache[stream] = nil
                state.slow.remove(stream)
                state.followers[stream] = nil
                state.epochs[stream] = nil
            }
            if let error { logger.error("recording ended: \(error)", metadata: ["stream": "\(stream)"]) }
            writeQueue.note(
                .recording(
                    .ended(
                        stream, at: MonotonicClock.wallTime(), failure: error?.reason, playlist: path(of: stream))))
        }
    }

    /// Passes segments that are on the disk to what follows their recordings.
    private static func pass(_ segments: [SegmentRecord], _ state: SharedState) {
        for segment in segments {
            guard let follower = state.value.withLock({ $0.followers[segment.stream] }),
                follower.epoch == segment.epoch
            else { continue }
            follower.receive(segment)
        }
    }

    // MARK: Recording

    /// Passes each later segment of a stream's recording to a packaged stream when it is on the disk, until the recording
    /// ends. The window of the stream then needs no second copy.
    func follow(_ stream: StreamID, by packaged: PackagedStream) {
        guard let store else { return }
        let files = files(of: stream, store)
        let receive: @Sendable (SegmentRecord) -> Void = { [weak packaged] segment in
            packaged?.noteRecorded(segment) {
                let name = RecordingFolder.FileName(
                    epoch: segment.epoch, rendition: segment.rendition, number: segment.file)
                return try files.open(name).media(of: segment)
            }
        }
        state.value.withLock { state in
            guard let epoch = state.epochs[stream] else { return }
            state.followers[stream] = (epoch, receive)
        }
    }

    /// Returns whether the publisher's token or the configuration requests that a stream is recorded.
    func isRequested(for stream: LiveStream) -> Bool {
        configuration.recordsEveryStream || StreamCapabilities.recordedLayers(stream.capabilities) != nil
    }

    /// Returns which layers of a stream's video are recorded.
    static func layers(of stream: LiveStream) -> PackagedStream.Layers {
        StreamCapabilities.recordedLayers(stream.capabilities) ?? .all
    }

    /// Begins to record a stream, or the next epoch of its recording, if it is requested.
    ///
    /// - Parameters:
    ///   - stream: The stream, which is not recorded.
    ///   - instance: The prefix of file names in URIs, which is that of the packager.
    /// - Returns: Whether the stream is recorded.
    func begin(_ stream: LiveStream, instance: String) async -> Bool {
        guard isRequested(for: stream) else { return false }
        guard let store else {
            logger.warning(
                "the stream cannot be recorded: start the platform with --data", metadata: ["stream": "\(stream.id)"])
            return false
        }
        guard !store.isRecording(stream.id) else { return true }
        let earlier: RecordingRecord?
        do {
            earlier = try await records.recording(of: stream.id)
        } catch {
            logger.error("the stream is not recorded: \(error)", metadata: ["stream": "\(stream.id)"])
            return false
        }
        guard earlier?.deleted == nil else { return false }
        let epoch = earlier?.epochs ?? 0
        writeQueue.note(
            .recording(
                .began(
                    RecordingRecord(
                        stream: stream.id, application: stream.application, began: MonotonicClock.wallTime(),
                        epochs: epoch + 1))))
        state.value.withLock { state in
            state.interrupted.remove(stream.id)
            state.cache[stream.id] = nil
            state.epochs[stream.id] = epoch
        }
        store.begin(
            RecordingIdentity(stream: stream.id, application: stream.application, epoch: epoch, instance: instance))
        logger.info("stream is recorded", metadata: ["stream": "\(stream.id)", "epoch": "\(epoch)"])
        return true
    }

    /// Appends parts of a stream. It does nothing for a stream that is not recorded.
    func append(_ parts: [PublishedPart], to stream: StreamID) { store?.append(parts, to: stream) }

    /// Ends the recording of a stream. It does nothing for a stream that is not recorded.
    func finish(_ stream: StreamID) {
        if store?.isRecording(stream) == true { store?.finish(stream) }
        // The stream was interrupted and did not resume.
        guard state.value.withLock({ $0.interrupted.remove(stream) != nil }) else { return }
        writeQueue.note(
            .recording(.ended(stream, at: MonotonicClock.wallTime(), failure: nil, playlist: Self.path(of: stream))))
    }

    /// The number of streams that are recorded, and the bytes of their parts that wait to be written.
    var counts: (streams: Int, queuedBytes: Int) { (store?.activeCount ?? 0, store?.queuedSize ?? 0) }

    /// Ends all recordings, and returns when their media are on the disk and in the queue of the database.
    func stop() async { await store?.finishAll() }

    // MARK: Playback

    /// Returns the recording of a stream; nil if there is none, or if it was deleted.
    ///
    /// - Throws: `RecordsError`.
    func recording(of stream: StreamID) async throws(RecordsError) -> RecordedStream? {
        guard let store else { return nil }
        let now = MonotonicClock.now()
        if let cached = cached(stream, at: now) { return cached }
        guard let contents = try await records.contents(ofRecording: stream) else { return nil }
        let key = try await records.signingKey(ofRecording: stream) {
            var generator = SystemRandomNumberGenerator()
            return (0..<PathSigner.keySize).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        guard let key, key.count == PathSigner.keySize else { return nil }
        let isComplete = contents.recording.ended != nil && !store.isRecording(stream)
        let loaded = RecordedStream(
            contents, isComplete: isComplete, in: files(of: stream, store), signer: PathSigner(key: key), reader: reader
        )
        state.value.withLock { state in
            state.cache[stream] = Cached(
                stream: loaded, expiry: isComplete ? nil : now + Self.liveLifetime, lastUse: now)
            guard state.cache.count > Self.cacheLimit else { return }
            let oldest = state.cache.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { state.cache[oldest.key] = nil }
        }
        return loaded
    }

    private func files(of stream: StreamID, _ store: RecordingStore) -> RecordingFiles {
        let folder = RecordingFolder(root: store.root, stream: stream)
        guard let objects else { return RecordingFiles(folder) }
        return RecordingFiles(folder) { name throws(RecordingError) in try objects.file(name, of: stream) }
    }

    private func cached(_ stream: StreamID, at now: Instant) -> RecordedStream? {
        state.value.withLock { state in
            guard let cached = state.cache[stream], cached.expiry.map({ now < $0 }) ?? true else { return nil }
            state.cache[stream]?.lastUse = now
            return cached.stream
        }
    }

    /// Discards what is known of a recording, because it has changed.
    func discardCache(of stream: StreamID) {
        state.value.withLock { $0.cache[stream] = nil }
        movies.discard(stream)
    }

    /// Makes the signatures of the recordings of applications invalid, because their secrets are not valid any more.
    func revokeAccess(to applications: Set<ApplicationID>) async {
        do {
            try await records.discardSigningKeys(of: applications)
        } catch {
            logger.error("the addresses of recordings could not be revoked: \(error)")
        }
        state.value.withLock { state in
            state.cache = state.cache.filter { !applications.contains($0.value.stream.recording.application) }
        }
    }

    /// Records that a recording was left open, and that its stream may resume.
    func noteInterrupted(_ stream: StreamID) { state.value.withLock { _ = $0.interrupted.insert(stream) } }
}

extension RecordingError {
    /// The reason in notifications and lists.
    fileprivate var reason: String {
        switch self {
        case .full: "disk-full"
        case .tooSlow: "disk-too-slow"
        case .inaccessible, .removed, .corrupt, .inUse, .unavailable: "disk-failed"
        }
    }
}

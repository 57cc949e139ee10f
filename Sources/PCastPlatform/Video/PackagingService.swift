import Logging
import PCastCore
import PCastDatabase
import PCastHLS
import PCastIO
import PCastPackaging
import PCastRecording
import PCastSFU
import Synchronization

/// The streams that are packaged for HLS, from their first packet until some time after their end.
final class PackagingService: Sendable {
    /// The time after the end of a stream in which players load the rest of it.
    static let retention = TimeSpan.seconds(60 as Int64)
    /// The limits of the interval in which absent media and overdue requests are noticed: the duration of a part.
    private static let tickIntervals = Duration.milliseconds(100)...Duration.milliseconds(200)
    /// The time after which it is noticed that the units of a stream do not arrive any more. As long as they arrive, they
    /// advance the stream, because a timer costs more than the packaging of several units.
    private static let arrivalInterval = Duration.milliseconds(500)
    /// The codecs that are packaged.
    static let codecs: Set<Codec> = [.h264, .h265, .av1, .vp9, .opus]

    private struct Entry {
        var publisher: PeerID
        /// Nil until it is known what the publisher sends.
        var packaged: PackagedStream?
        var hasWarned = false
    }

    /// The streams whose last units are packaged.
    private struct Ending {
        struct Stream {
            let packaged: PackagedStream
            /// The number of feeds that may have units of the stream.
            var feedCount: Int
        }

        /// Whether units are packaged, so that an end may wait for them.
        var isRunning = false
        var streams: [StreamID: Stream] = [:]
    }

    private let ending = Mutex(Ending())
    private let router: MediaRouter
    private let configuration: HLSConfiguration
    private let writeQueue: DatabaseWriteQueue
    /// Records streams; nil for none.
    private let recordings: RecordingService?
    /// The timelines, whose events the playlists list; nil for none.
    private let timelines: TimelineService?
    private let logger: Logger
    /// Makes spans of segments; nil if nothing receives them.
    private let trace: SegmentTrace?
    /// Stores the windows on a disk; nil if they are in memory.
    private let windowStorage: WindowStorage?
    private let windowReader = FileReadingQueue(width: 8)
    /// The streams, at most as many as there are publishers, and those that ended recently.
    private let entries = Mutex<[StreamID: Entry]>([:])
    private let waiters = PackagingWaiters()
    /// The streams of declared names, at most one for each declaration that was opened.
    private let names = Mutex<[StreamID: StreamID]>([:])

    init(
        router: MediaRouter, configuration: HLSConfiguration, writeQueue: DatabaseWriteQueue,
        recordings: RecordingService? = nil, timelines: TimelineService? = nil, windowStorage: WindowStorage? = nil,
        trace: SegmentTrace? = nil, logger: Logger
    ) {
        self.trace = trace
        self.windowStorage = windowStorage
        self.recordings = recordings
        self.timelines = timelines
        self.router = router
        self.configuration = configuration
        self.writeQueue = writeQueue
        self.logger = logger
    }

    /// Returns a stream that is packaged, or was until recently; nil for others. The identifier may be the name of a
    /// declared stream.
    func stream(_ id: StreamID) -> PackagedStream? {
        let named = names.withLock { $0[id] } ?? id
        return entries.withLock { $0[named]?.packaged }
    }

    /// Waits until a stream is packaged. Returns nil if it has ended, cannot be packaged, or is not packaged in time.
    func awaitStream(_ id: StreamID, within limit: Duration) async -> PackagedStream? {
        await waiters.wait(for: id, within: limit) { stream(id) != nil }
        return stream(id)
    }

    /// Sets the stream of a declared name.
    func setStream(_ id: StreamID, named name: StreamID) { names.withLock { $0[name] = id } }

    /// Returns the number of viewers of a stream that wait for a part, a lower bound of all.
    func viewerCount(of id: StreamID) -> Int { stream(id)?.viewerCount ?? 0 }

    /// The number of streams that are packaged, and the number of their viewers at this node that wait for a part.
    var counts: (streams: Int, viewers: Int) {
        let live = entries.withLock { $0.values.compactMap(\.packaged) }.filter(\.isLive)
        return (live.count, live.reduce(0) { $0 + $1.ownViewerCount })
    }

    /// The number of streams that are recorded, and the bytes of their parts that wait to be written.
    var recordingCounts: (streams: Int, queuedBytes: Int) { recordings?.counts ?? (0, 0) }

    /// Makes the signatures of all streams of applications invalid, because their secrets are not valid any more.
    func revokeAccess(to applications: Set<ApplicationID>) {
        for packaged in entries.withLock({ $0.values.compactMap(\.packaged) })
        where applications.contains(packaged.application) {
            packaged.revokeAccess()
        }
    }

    /// The duration of the window in which viewers can seek, unless memory is scarce.
    var window: Duration { configuration.window }

    /// Adds captions to a stream, if it is packaged.
    func add(_ cues: [CaptionCue], to id: StreamID) { stream(id)?.add(cues) }

    /// Adds date ranges to a stream, if it is packaged.
    func add(_ ranges: [DateRange], to id: StreamID) { stream(id)?.add(ranges) }

    // MARK: Life cycle

    /// Begins to package a stream whose first packet has arrived, if its publisher's token or the configuration requests
    /// it. A stream whose publisher reconnected continues.
    func begin(_ stream: LiveStream) async {
        guard let layers = layers(of: stream) else { return }
        // A stream that begins again, such as that of a name, is not the one that ends.
        if let former = ending.withLock({ $0.streams.removeValue(forKey: stream.id) }) { finish(former.packaged) }
        let former = reserve(stream.id, for: stream.peer)
        if let former, former.isLive {
            // The units of the new publisher arrive after the restart.
            former.restart(at: MonotonicClock.now())
            let codecs = await router.beginReading(stream.id, codecs: Self.codecs, of: stream.peer)
            guard !codecs.isEmpty else { return warnOfCodecs(stream.id) }
            let needs = former.setTracks(codecs, audio: stream.audioTracks, at: MonotonicClock.now())
            return router.requestKeyFrames(of: stream.id, layers: needs.keyFrames, from: stream.peer)
        }
        let codecs = await router.beginReading(stream.id, codecs: Self.codecs, of: stream.peer)
        guard !codecs.isEmpty else {
            entries.withLock { $0[stream.id] = nil }
            waiters.resume(stream.id)
            return warnOfCodecs(stream.id)
        }
        let settings = packagerConfiguration
        // The presenters of a channel are recorded, each by itself.
        let isRecorded =
            stream.place.isChannel ? false : await recordings?.begin(stream, instance: settings.instance) ?? false
        let packaged = PackagedStream(
            stream.id, of: stream.application, settings, codecs: codecs, audio: stream.audioTracks, layers: layers,
            recorder: isRecorded ? recordings : nil, recordedLayers: RecordingService.layers(of: stream),
            window: window(isRecorded: isRecorded), trace: trace)
        if isRecorded { recordings?.follow(stream.id, by: packaged) }
        packaged.add(stream.captions.current(at: MonotonicClock.wallTime()))
        guard add(packaged, of: stream.peer, showing: TimelineKey(of: stream)) else {
            recordings?.finish(stream.id)
            return router.endReading(stream.id, of: stream.peer)
        }
        writeQueue.note(
            .streamPackaged(stream.id, at: MonotonicClock.wallTime(), playlist: VideoRoutes.path(of: stream.id)))
        logger.info("stream is packaged", metadata: ["stream": "\(stream.id)", "tracks": "\(codecs.count)"])
    }

    /// Returns the storage of a stream's window; nil if it is in memory.
    private func window(isRecorded: Bool) -> PackagedStream.Window? {
        guard let windowStorage else { return nil }
        let interval = TimeSpan(isRecorded ? recordings?.configuration.syncInterval ?? .zero : .zero)
        return PackagedStream.Window(
            storage: windowStorage, files: WindowFiles(window: configuration.window), reader: windowReader,
            recordingTime: max(.seconds(15 as Int64), interval * 3))
    }

    private func warnOfCodecs(_ id: StreamID) {
        logger.warning(
            "the stream cannot be packaged: publish H.264, H.265, AV1 or VP9, or Opus", metadata: ["stream": "\(id)"])
    }

    /// Records the publisher of a stream that will be packaged. Returns the packaged stream of its former publisher; nil
    /// if there is none.
    func reserve(_ id: StreamID, for publisher: PeerID) -> PackagedStream? {
        entries.withLock { entries in
            let former = entries[id]?.packaged
            entries[id] = Entry(publisher: publisher, packaged: former)
            return former
        }
    }

    /// Adds the packaged stream of a publisher. Returns false if the publisher has left meanwhile. Its playlists list the
    /// events of `game`; nil for none.
    func add(_ packaged: PackagedStream, of publisher: PeerID, showing game: TimelineKey? = nil) -> Bool {
        let isPresent = entries.withLock { entries in
            guard entries[packaged.id]?.publisher == publisher else { return false }
            entries[packaged.id]?.packaged = packaged
            return true
        }
        if isPresent { advanceUntilRemoved(packaged, showing: game) }
        waiters.resume(packaged.id)
        return isPresent
    }

    /// Adds the revisions of a game to the playlists of a stream. Players need the last ones only, of which playlists list
    /// a bounded number.
    private func follow(_ game: TimelineKey, for packaged: PackagedStream) {
        guard let timelines else { return }
        let start = MonotonicClock.wallTime() - TimeSpan(configuration.window)
        Task {
            await timelines.follow(game, for: ObjectIdentifier(packaged), since: start) { [weak packaged] revisions in
                packaged?.add(revisions.compactMap { DateRange($0.revision, gate: $0.gate, of: game.game) })
            }
        }
    }

    /// Ends a stream, when its last units have been packaged. Its playlists then have an end, and are available for some time.
    func end(_ id: StreamID) {
        let packaged = entries.withLock { entries in
            let packaged = entries[id]?.packaged
            if packaged == nil { entries[id] = nil }
            return packaged
        }
        guard let packaged else {
            waiters.resume(id)
            recordings?.finish(id)
            for feed in router.feeds { feed.setNext([:], of: id) }
            return
        }
        let feeds = router.feeds
        let waits = ending.withLock { ending in
            guard ending.isRunning, !feeds.isEmpty else { return false }
            ending.streams[id] = Ending.Stream(packaged: packaged, feedCount: feeds.count)
            return true
        }
        for feed in feeds { feed.end(id) }
        if !waits { finish(packaged) }
    }

    private func finish(_ packaged: PackagedStream) {
        packaged.finish(at: MonotonicClock.now())
        waiters.resume(packaged.id)
        recordings?.finish(packaged.id)
    }

    /// Records that a feed has no further units of a stream that has ended.
    private func noteEnd(of id: StreamID) {
        let finished = ending.withLock { ending -> PackagedStream? in
            guard let stream = ending.streams[id] else { return nil }
            guard stream.feedCount <= 1 else {
                ending.streams[id]?.feedCount -= 1
                return nil
            }
            ending.streams[id] = nil
            return stream.packaged
        }
        if let finished { finish(finished) }
    }

    /// Whether the configuration requests that every stream is packaged, for HLS or for a recording.
    var packagesEveryStream: Bool {
        configuration.packagesEveryStream || recordings?.configuration.recordsEveryStream == true
    }

    /// Returns whether the publisher's token or the configuration requests that a stream is packaged.
    func packages(_ stream: LiveStream) -> Bool { layers(of: stream) != nil }

    private func layers(of stream: LiveStream) -> PackagedStream.Layers? {
        if let layers = StreamCapabilities.packagedLayers(stream.capabilities) { return layers }
        return packagesEveryStream || recordings?.isRequested(for: stream) == true ? .all : nil
    }

    private var packagerConfiguration: PackagerConfiguration {
        // Files are cached by their names, so each stream has its own.
        var settings = PackagerConfiguration(instance: String(RandomIdentifier.make().prefix(10)))
        settings.partDuration = TimeSpan(configuration.partDuration)
        settings.segmentDuration = TimeSpan(configuration.segmentDuration)
        settings.window = TimeSpan(configuration.window)
        settings.maximumWindowSize = configuration.maximumMemory
        settings.encryption = configuration.segmentsPerKey.map {
            SegmentEncryption.packager(segmentsPerKey: max(1, $0))
        }
        return settings
    }

    /// The interval in which the time of a stream advances.
    private var tickInterval: Duration {
        let limits = Self.tickIntervals
        return min(max(configuration.partDuration, limits.lowerBound), limits.upperBound)
    }

    /// Advances the time of a stream until it is removed, some time after its end.
    private func advanceUntilRemoved(_ packaged: PackagedStream, showing game: TimelineKey?) {
        if let game { follow(game, for: packaged) }
        let interval = tickInterval
        Task { [weak self, timelines] in
            var pause = interval
            while (try? await Task.sleep(for: pause)) != nil {
                guard let self else { break }
                let isAdvanced = packaged.hasAdvanced(to: MonotonicClock.now() - TimeSpan(interval))
                guard isAdvanced || self.advance(packaged) else { break }
                pause = isAdvanced ? Self.arrivalInterval : interval
            }
            if let game { await timelines?.unfollow(game, for: ObjectIdentifier(packaged)) }
        }
    }

    /// Advances the time of a stream. Returns false if it was removed.
    private func advance(_ packaged: PackagedStream) -> Bool {
        let now = MonotonicClock.now()
        for feed in router.feeds { feed.flush(at: now) }
        let needs = packaged.advance(to: now, wallTime: MonotonicClock.wallTime())
        let count = max(1, entries.withLock { $0.count })
        packaged.limitWindow(
            to: configuration.maximumMemory / count, storedSize: configuration.maximumDiskSpace / count, at: now)
        let hasEnded = packaged.hasEnded(before: now - Self.retention)
        let entry: Entry? = entries.withLock { entries in
            guard let entry = entries[packaged.id], entry.packaged === packaged else { return nil }
            if hasEnded { entries[packaged.id] = nil }
            return hasEnded ? nil : entry
        }
        guard let publisher = entry?.publisher else { return false }
        router.requestKeyFrames(of: packaged.id, layers: needs.keyFrames, from: publisher)
        return true
    }

    // MARK: Media

    /// Packages the units of all streams until the router stops.
    func run() async {
        ending.withLock { $0.isRunning = true }
        await withTaskGroup(of: Void.self) { group in
            for feed in router.feeds {
                group.addTask {
                    for await batch in feed.batches {
                        await self.process(batch, of: feed)
                        feed.processed(batch)
                        if let id = batch.ended { self.noteEnd(of: id) }
                    }
                }
            }
        }
        let rest = ending.withLock { ending in
            defer { ending = Ending() }
            return ending.streams.values.map(\.packaged)
        }
        for packaged in rest { finish(packaged) }
    }

    private func process(_ batch: PublishedUnitFeed.Batch, of feed: PublishedUnitFeed) async {
        if batch.followsLoss { noteLoss() }
        var start = batch.units.startIndex
        while start < batch.units.endIndex {
            let id = batch.units[start].stream
            let end = batch.units[start...].firstIndex { $0.stream != id } ?? batch.units.endIndex
            await append(batch.units[start..<end], to: id, feed)
            start = end
        }
    }

    private func append(_ units: ArraySlice<PublishedUnit>, to id: StreamID, _ feed: PublishedUnitFeed) async {
        guard let entry = entries.withLock({ $0[id] }), let packaged = entry.packaged else { return }
        defer { feed.setNext(packaged.nextTimestamps, of: id) }
        let now = MonotonicClock.now()
        var needs = packaged.append(units, at: now)
        var lacksVideo = false
        if packaged.mayLackVideo(at: now) { lacksVideo = await !router.receivesVideo(id, of: entry.publisher) }
        if lacksVideo || packaged.needsConfiguration(at: now) {
            let answers = await router.answersKeyFrameRequests(id, of: entry.publisher)
            needs.keyFrames += packaged.configure(answersKeyFrameRequests: answers, at: now).keyFrames
        }
        router.requestKeyFrames(of: id, layers: needs.keyFrames, from: entry.publisher)
        if let interval = needs.longKeyFrameInterval {
            warn(
                "key frames are rare, so segments are long: configure the encoder to send one every two seconds", id,
                ["interval": "\(interval)"])
        }
        if needs.hasUnreadableVideo {
            warn(
                "the video is not packaged, because its parameter sets or sequence header are invalid or missing: check the encoder",
                id)
        }
        if !packaged.hasAdvanced(to: now - TimeSpan(tickInterval)) { _ = advance(packaged) }
    }

    /// Requests key frames of all streams after the feed has dropped units.
    private func noteLoss() {
        logger.warning("packaging is too slow: units of streams were dropped")
        let now = MonotonicClock.now()
        for (id, entry) in entries.withLock({ $0 }) {
            guard let needs = entry.packaged?.unitsLost(at: now) else { continue }
            router.requestKeyFrames(of: id, layers: needs.keyFrames, from: entry.publisher)
        }
    }

    /// Logs the first warning about a publisher's video.
    private func warn(_ message: Logger.Message, _ id: StreamID, _ details: Logger.Metadata = [:]) {
        let isFirst = entries.withLock { entries in
            guard entries[id]?.hasWarned == false else { return false }
            entries[id]?.hasWarned = true
            return true
        }
        guard isFirst else { return }
        logger.warning(message, metadata: details.merging(["stream": "\(id)"]) { $1 })
    }
}

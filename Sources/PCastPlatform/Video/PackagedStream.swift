import NIOCore
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastPackaging
import PCastRecording
import PCastSFU
import PCastWeb
import Synchronization

/// A stream that is packaged for HLS: its packager, its rendered playlists, and the requests that wait for a part.
///
/// The task of a feed appends units, and requests read playlists and files. A playlist is rendered once after it changed,
/// when it is requested.
final class PackagedStream: Sendable {
    /// The layers of the video that the multivariant playlist lists, or that are recorded.
    enum Layers: Sendable {
        case all
        /// The one with the highest bit rate (`streaming-lite`, `on-demand-lite`).
        case highest
    }

    /// The requests to the publisher of the stream.
    struct Needs: Sendable {
        /// The layers that need a key frame.
        var keyFrames: [Int] = []
        /// The distance of key frames that exceeds the duration of a segment; nil if there is none.
        var longKeyFrameInterval: TimeSpan?
        /// Whether the video cannot be packaged, because its headers are invalid or missing.
        var hasUnreadableVideo = false
    }

    /// The answer to the request of a playlist or file.
    enum Answer<Content: Sendable>: Sendable {
        case found(Content)
        /// The request is too far ahead.
        case tooFarAhead
        /// There is no such playlist or file, or not any more.
        case unknown
        /// It did not become available in time.
        case timedOut
        /// It cannot be read from the disk, with the reason.
        case unreadable(String)
    }

    /// The storage of the window on a disk.
    struct Window: Sendable {
        let storage: WindowStorage
        let files: WindowFiles
        /// Reads outside of the threads of Swift concurrency.
        let reader: FileReadingQueue
        /// The duration in which a recording has time to store segments, so that they are not stored twice.
        let recordingTime: TimeSpan
    }

    /// The answer to a request now, or the change for which it waits.
    enum Reply<Content: Sendable>: Sendable {
        case answer(Answer<Content>)
        case wait(Wait)
    }

    /// A wait for a change.
    struct Wait: Sendable {
        fileprivate let condition: State.Condition
        /// Whether the request counts as a viewer.
        let isViewer: Bool
        /// The time for which a request waits in all.
        let timeout: TimeSpan
    }

    /// The signer of the stream's path, and the signature that it found valid last.
    private struct Access: Sendable {
        var signer = PackagedStream.newSigner()
        /// The number of signers before.
        var generation = 0
        var valid: (signature: String, window: Int64) = ("", 0)
    }

    let id: StreamID
    let application: ApplicationID
    private let access = Mutex(Access())
    private let layers: Layers
    /// Records the stream; nil if it is not recorded.
    private let recorder: RecordingService?
    /// Stores the window on a disk; nil if it is in memory.
    private let window: Window?
    /// Makes spans of segments; nil if nothing receives them.
    private let trace: SegmentTrace?
    private let state: Mutex<State>
    private let nodeViewers = Mutex(NodeViewers())
    /// The time up to which the stream was advanced.
    private let lastAdvance = Mutex(Instant(nanoseconds: .min))
    /// The transcoder of the audio; nil while no client requests AAC.
    private let transcoding = Mutex<StreamTranscoding?>(nil)

    /// The time without requests after which transcoding ends.
    private static let transcodingIdleTime = TimeSpan.seconds(60 as Int64)
    /// The time for which the multivariant playlist waits for the first segments of renditions that begin.
    private static let beginningTimeout = TimeSpan.seconds(3 as Int64)
    /// The target duration before it is known.
    private static let assumedTargetDuration = TimeSpan.seconds(3 as Int64)
    /// The maximum number of requests that wait.
    private static let waitingLimit = 20_000
    /// The maximum number of segments of a rendition that are stored at once.
    private static let storedAtOnce = 4

    /// Creates a stream without a packager; see ``configure(answersKeyFrameRequests:at:)``.
    ///
    /// - Parameters:
    ///   - id: The stream.
    ///   - application: The application of its publisher.
    ///   - configuration: The settings of the packager.
    ///   - codecs: The codec of each track that is read, by its layer; nil for audio.
    ///   - audio: The audio tracks, if they are known. `codecs` has only the first one.
    ///   - layers: The renditions that are listed.
    ///   - recorder: The service that records the stream, and has begun to; nil for none.
    ///   - recordedLayers: The layers that are recorded.
    ///   - window: Stores the window on a disk; nil if it is in memory.
    ///   - trace: Makes spans of segments; nil for none.
    init(
        _ id: StreamID, of application: ApplicationID, _ configuration: PackagerConfiguration, codecs: [Int?: Codec],
        audio: [AudioTrackDescription] = [], layers: Layers, recorder: RecordingService? = nil,
        recordedLayers: Layers = .all, window: Window? = nil, trace: SegmentTrace? = nil
    ) {
        self.trace = trace
        self.recorder = recorder
        self.window = window
        self.id = id
        self.application = application
        self.layers = layers
        state = Mutex(State(configuration, codecs, audio: audio, recordedLayers: recordedLayers))
    }

    /// Returns the name of the rendition with a layer of the video, or with an audio track as it is published. `generation`
    /// is the number of renditions that the track had before.
    static func name(of track: PublishedUnit.Track, generation: Int) -> String {
        let name =
            switch track {
            case .video(let layer): "\(videoPrefix)\(layer)"
            case .audio(0): "opus"
            case .audio(let number): "\(furtherAudioPrefix)\(number)"
            }
        return generation == 0 ? name : "\(name)-\(generation)"
    }

    /// Returns the name of the rendition with the AAC of an audio track. `generation` is the number of times that the audio
    /// was transcoded before.
    static func name(ofAAC generation: Int, track: Int) -> String {
        track == 0 ? "aac\(generation)" : "\(furtherAudioPrefix)\(track)-aac\(generation)"
    }

    /// Returns whether a rendition has an audio track other than the default.
    static func isFurtherAudio(_ name: String) -> Bool { name.hasPrefix(furtherAudioPrefix) }

    /// Returns the layer of a rendition with video; nil for other names.
    static func layer(ofName name: String) -> Int? {
        guard name.hasPrefix(videoPrefix) else { return nil }
        return Int(name.dropFirst(videoPrefix.count).prefix { $0 != "-" })
    }

    /// The names of video renditions begin with this.
    static let videoPrefix = "video"
    /// The names of renditions with further audio tracks begin with this.
    private static let furtherAudioPrefix = "audio"

    // MARK: Access

    /// Returns the signature of the stream's path, which grants access to everything below it.
    func signature(at time: WallTime) -> String {
        access.withLock { $0.signer }.signature(of: id.description, at: time)
    }

    /// Returns the signatures that are accepted, the newest one first.
    func signatures(at time: WallTime) -> [String] {
        let signer = access.withLock { $0.signer }
        return [time, time - PathSigner.window].map { signer.signature(of: id.description, at: $0) }
    }

    /// Checks a signature of the stream's path. All viewers have the same one, so that it is computed once in a window.
    func check(_ signature: String, at time: WallTime) -> PathSigner.Verdict {
        let window = time.nanosecondsSinceEpoch / PathSigner.window.nanoseconds
        let (signer, generation, valid) = access.withLock { ($0.signer, $0.generation, $0.valid) }
        if valid.window == window, Self.areEqual(signature, valid.signature) { return .valid }
        let verdict = signer.check(signature, of: id.description, at: time)
        guard verdict == .valid else { return verdict }
        // The access may have been revoked meanwhile.
        access.withLock { if $0.generation == generation { $0.valid = (signature, window) } }
        return verdict
    }

    /// Compares two texts in a time that does not depend on where they differ.
    static func areEqual(_ first: String, _ second: String) -> Bool {
        let one = first.utf8.span
        let other = second.utf8.span
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in one.indices { difference |= one[index] ^ other[index] }
        return difference == 0
    }

    /// Makes all signatures invalid. Viewers need the multivariant playlist again.
    func revokeAccess() { access.withLock { $0 = Access(generation: $0.generation + 1) } }

    /// Returns a signer with a random key.
    private static func newSigner() -> PathSigner {
        var generator = SystemRandomNumberGenerator()
        return PathSigner(
            key: (0..<PathSigner.keySize).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    // MARK: Input

    /// Whether the packager must be created now, because it can be known whether the publisher makes key frames on
    /// request.
    ///
    /// A key frame that is due can look like an answer. Therefore another one is requested after the first, and units are
    /// kept until it arrives or is late.
    func needsConfiguration(at now: Instant) -> Bool { state.withLock { $0.needsConfiguration(at: now) } }

    /// Returns whether the video should have arrived by now. If none has, create the packager: audio then begins alone, and
    /// the video is added when it arrives.
    func mayLackVideo(at now: Instant) -> Bool { state.withLock { $0.mayLackVideo(at: now) } }

    /// Creates the packager, and appends the units that were kept. `answersKeyFrameRequests` is whether the publisher
    /// makes key frames on request.
    @discardableResult
    func configure(answersKeyFrameRequests: Bool, at now: Instant) -> Needs {
        update(at: now) { $0.configure(answersKeyFrameRequests: answersKeyFrameRequests) }
    }

    /// Appends units of the publisher, and answers the requests that waited for them.
    func append(_ units: some Collection<PublishedUnit>, at now: Instant) -> Needs {
        let transcoded = transcode(units)
        var requested: Set<Int> = []
        var needs = update(at: now) { state in
            for unit in units { if let layer = state.append(unit, at: now) { requested.insert(layer) } }
            for (rendition, units) in transcoded { for unit in units { state.packager?.append(unit, to: rendition) } }
        }
        needs.keyFrames += requested
        // A recording has AAC from its beginning.
        if keepsAAC, state.withLock({ $0.mayBeginAAC }) { beginTranscoding(at: now) }
        return needs
    }

    /// The timestamps from which on units may complete a part, by their tracks. All units of other tracks may.
    var nextTimestamps: [PublishedUnit.Track: Int64] { state.withLock { $0.nextTimestamps } }

    /// Transcodes the audio of units, for the renditions that the result names. It is empty if no client requests AAC.
    private func transcode(
        _ units: some Collection<PublishedUnit>
    ) -> [(rendition: String, units: [AccessUnit])] {
        // Only the task of the feed transcodes, so the lock is free except when transcoding begins or ends.
        transcoding.withLock { transcoding in
            transcoding?.transcode(units) { number in state.withLock { $0.recentAudio(of: number) } } ?? []
        }
    }

    /// Adds captions, whose times are on the capture clock of the units.
    func add(_ cues: [CaptionCue]) { state.withLock { $0.add(cues) } }

    /// Adds date ranges, whose times are on the capture clock of the units.
    func add(_ ranges: [DateRange]) { state.withLock { $0.add(ranges) } }

    /// Marks units as lost.
    func unitsLost(at now: Instant) -> Needs {
        update(at: now) { state in
            for name in state.packager?.names ?? [] { state.packager?.framesLost(in: name) }
        }
    }

    /// Prepares for a publisher that reconnected.
    func restart(at now: Instant) { _ = update(at: now) { $0.restart() } }

    /// Sets the tracks of a publisher that reconnected, given by their codecs as in the initializer. Renditions of tracks
    /// that it does not send are removed, and new tracks get renditions, which need key frames.
    func setTracks(_ codecs: [Int?: Codec], audio: [AudioTrackDescription] = [], at now: Instant) -> Needs {
        var added: [Int] = []
        var needs = transcoding.withLock { transcoding in
            defer { if !state.withLock({ $0.hasAAC }) { transcoding = nil } }
            return update(at: now) { added = $0.setTracks(codecs, audio: audio) }
        }
        needs.keyFrames += added
        return needs
    }

    /// Ends the stream. Requests that wait receive the last playlist.
    func finish(at now: Instant) {
        _ = update(at: now) { $0.finish(at: now) }
        transcoding.withLock { $0 = nil }
    }

    /// Whether the stream has not ended.
    var isLive: Bool { state.withLock { $0.ended == nil } }

    /// Returns whether the stream ended before a time.
    func hasEnded(before time: Instant) -> Bool { state.withLock { $0.ended.map { $0 < time } ?? false } }

    /// States the absence of media that should have arrived, ends transcoding that nobody requests, and answers requests
    /// whose time is over. Call it at least once per part.
    func advance(to now: Instant, wallTime: WallTime) -> Needs {
        lastAdvance.withLock { $0 = now }
        transcoding.withLock { transcoding in
            // A request that comes meanwhile waits for this lock, and then begins to transcode again.
            if !keepsAAC, state.withLock({ $0.endAAC(unusedFor: Self.transcodingIdleTime, at: now) }) {
                transcoding = nil
            }
        }
        if let window { storeWindow(window) }
        return update(at: now) { $0.packager?.advance(to: wallTime) }
    }

    /// Returns whether the stream was advanced to a time or a later one.
    func hasAdvanced(to time: Instant) -> Bool { lastAdvance.withLock { $0 >= time } }

    /// Whether the audio is transcoded also without requests.
    private var keepsAAC: Bool { recorder?.configuration.includesAAC ?? false }

    /// Shortens the window so that its segments have at most a number of bytes in memory, and in the storage of the window.
    func limitWindow(to size: Int, storedSize: Int = .max, at now: Instant) {
        let exceeds = state.withLock { state in
            state.packager.map { $0.memorySize > size || $0.storedSize > storedSize } ?? false
        }
        guard exceeds else { return }
        _ = update(at: now) { $0.packager?.limitWindow(to: size, storedSize: storedSize) }
    }

    // MARK: Storage

    /// Stores segments that left the memory window, unless the storage has failed. Those that a recording stores are not
    /// stored again.
    private func storeWindow(_ window: Window) {
        guard window.storage.isReady else { return }
        let delay = recorder == nil ? TimeSpan.zero : window.recordingTime
        let segments = state.withLock { $0.packager?.takeUnstored(count: Self.storedAtOnce, delay: delay) ?? [] }
        guard !segments.isEmpty else { return }
        window.storage.store(segments, in: window.files) { [weak self] stored, rest in
            self?.state.withLock { state in
                for (segment, media) in stored {
                    state.packager?.setStored(media, for: segment.number, of: segment.rendition)
                }
                state.packager?.setUnstored(rest)
            }
        }
    }

    /// Records that the recording of the stream has stored a segment, which `read` returns. A segment of which a part is
    /// missing in the recording is not used.
    func noteRecorded(_ segment: SegmentRecord, read: @escaping @Sendable () throws -> [UInt8]) {
        guard window != nil else { return }
        state.withLock { state in
            guard let packaged = state.packager?.contents(of: segment.number, in: segment.rendition),
                Int64(packaged.size + packaged.parts * PartHeader.size) == segment.length
            else { return }
            state.packager?.setStored(
                StoredMedia(size: packaged.size, belongsToWindow: false, read: read), for: segment.number,
                of: segment.rendition)
        }
    }

    /// Changes the state, and resumes the requests that the change answers and those whose time is over.
    private func update(at now: Instant, _ change: (inout State) -> Void) -> Needs {
        let (needs, completed, answered, overdue) = state.withLock { state in
            change(&state)
            // The parts are in order because they are recorded under the lock. The recorder does not wait.
            if let recorder { recorder.append(state.takeRecordedParts(), to: id) }
            let updates = state.packager?.takeUpdates() ?? PackagerUpdates()
            let answered = state.takeAnswered(changed: updates.changed)
            let needs = Needs(
                keyFrames: updates.needsKeyFrame.compactMap { Self.layer(ofName: $0) },
                longKeyFrameInterval: updates.longKeyFrameInterval, hasUnreadableVideo: updates.hasUnreadableVideo)
            return (needs, updates.completed, answered, state.takeOverdue(at: now))
        }
        for segment in completed { trace?.completed(segment, of: id) }
        WaitingRequest.resume(answered, with: true)
        WaitingRequest.resume(overdue, with: false)
        return needs
    }

    /// The last key frame of the video with its parameter sets, in Annex B format; nil if there is none.
    var lastKeyFrame: [UInt8]? { state.withLock { $0.keyFrames.best } }

    // MARK: Playlists and files

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waitingCount } }

    /// The number of viewers that wait for a part, here and at other nodes, a lower bound of all. Behind a content delivery
    /// network it is one.
    var viewerCount: Int {
        state.withLock { $0.viewerCount } + nodeViewers.withLock { $0.count(at: MonotonicClock.now()) }
    }

    /// The number of viewers of this node that wait for a part.
    var ownViewerCount: Int {
        max(state.withLock { $0.viewerCount } - nodeViewers.withLock { $0.nodeCount(at: MonotonicClock.now()) }, 0)
    }

    /// Records the number of viewers that wait for a part at another node.
    func note(viewers: Int, of node: String, at now: Instant) {
        nodeViewers.withLock { $0.note(viewers, of: node, at: now) }
    }

    /// The time of the last request of a media playlist or file; nil before the first one.
    var lastRequest: Instant? { state.withLock { $0.lastRequest } }

    /// Returns whether a request of a rendition's playlist uses the quota of viewers; see `State.countsViewers`.
    func countsViewers(of name: String) -> Bool { state.withLock { $0.countsViewers(of: name) } }

    /// Returns the multivariant playlist with one audio codec, whose URIs have a prefix. It waits until all renditions have
    /// a segment, because FFmpeg before version 6 crashes without one. AAC is transcoded from now on. If the codec does not
    /// become available, the list has the other one. The result is nil if the stream has no segments yet.
    func multivariantPlaylist(
        prefix: String, audio: PlaylistAudio = .aac, at now: Instant
    ) async -> RenderedPlaylist? {
        let deadline = now + Self.beginningTimeout
        repeat {
            if audio == .aac { beginTranscoding(at: now) }
            guard state.withLock({ $0.isBeginning(audio) }) else { break }
        } while await wait(for: .change, isViewer: false, until: deadline)
        guard var playlist = state.withLock({ $0.multivariantPlaylist(audio) }) else { return nil }
        if layers == .highest, let top = playlist.variants.first(where: { $0.resolution != nil })?.uri {
            playlist.variants.removeAll { $0.uri != top }
        }
        for index in playlist.variants.indices { playlist.variants[index].uri = prefix + playlist.variants[index].uri }
        for index in playlist.renditions.indices {
            playlist.renditions[index].uri = playlist.renditions[index].uri.map { prefix + $0 }
        }
        return RenderedPlaylist(playlist.text)
    }

    /// Begins to transcode the audio to AAC, unless it is transcoded already.
    private func beginTranscoding(at now: Instant) {
        transcoding.withLock { transcoding in
            guard transcoding == nil else { return state.withLock { $0.noteAAC(at: now) } }
            let numbers = state.withLock { $0.mayBeginAAC ? $0.audioTracks : [] }
            guard let begun = StreamTranscoding(numbers) else { return }
            let format = begun.format
            guard let names = state.withLock({ $0.beginAAC(format, of: begun.numbers, at: now) }) else { return }
            transcoding = begun.named(names)
        }
    }

    /// Returns a media playlist when it contains what the directives name (RFC 8216bis, section 6.2.5.2).
    func mediaPlaylist(
        _ name: String, _ directives: DeliveryDirectives, at now: Instant
    ) async -> Answer<RenderedPlaylist> {
        await answer(at: now) { $0.mediaPlaylistNow(name, directives, at: now) }
    }

    /// Returns a media playlist, or a wait until it contains what the directives name.
    func mediaPlaylistNow(
        _ name: String, _ directives: DeliveryDirectives, at now: Instant
    ) -> Reply<RenderedPlaylist> {
        let awaited = DeliveryDirectives(segment: directives.segment, part: directives.part)
        return state.withLock { state in
            state.noteRequest(of: name, at: now)
            switch state.answer(to: awaited, for: name) {
            case .ready:
                let playlist = state.rendered(name, isDelta: directives.skip != nil)
                return .answer(playlist.map { .found($0) } ?? .unknown)
            case .tooFarAhead: return .answer(.tooFarAhead)
            case .unknown: return .answer(.unknown)
            case .wait:
                return .wait(
                    Wait(
                        condition: .playlist(name, awaited), isViewer: true, timeout: Self.reloadTimeout(of: state)))
            }
        }
    }

    /// Returns a media file of a rendition. The next part, which the playlist hints at, is awaited.
    func file(_ fileName: String, of name: String, at now: Instant) async -> Answer<ByteBuffer> {
        let stored = state.withLock { state in
            state.noteRequest(of: name, at: now)
            return state.storedFile(fileName, of: name)
        }
        guard let window, let stored else { return await answer(at: now) { $0.fileNow(fileName, of: name, at: now) } }
        return switch await window.reader.run({ try stored.read() }) {
        case .success(let bytes): .found(ByteBuffer(bytes: bytes))
        case .failure(let error): .unreadable("\(error)")
        }
    }

    /// Returns whether a media file must be read from the disk, by ``file(_:of:at:)``.
    func isStored(_ fileName: String, of name: String) -> Bool {
        window != nil && state.withLock { $0.storedFile(fileName, of: name) != nil }
    }

    /// Returns a media file of a rendition, or a wait for the next part, which the playlist hints at.
    func fileNow(_ fileName: String, of name: String, at now: Instant) -> Reply<ByteBuffer> {
        state.withLock { state in
            state.noteRequest(of: name, at: now)
            if let file = state.file(fileName, of: name) { return .answer(.found(file)) }
            guard let part = state.hintedPart(fileName, of: name) else { return .answer(.unknown) }
            return .wait(
                Wait(condition: .playlist(name, part), isViewer: false, timeout: Self.reloadTimeout(of: state)))
        }
    }

    /// Returns the answer to a request, which may wait.
    private func answer<Content>(
        at now: Instant, _ reply: (PackagedStream) -> Reply<Content>
    ) async -> Answer<Content> {
        var deadline: Instant?
        while true {
            switch reply(self) {
            case .answer(let answer): return answer
            case .wait(let wait):
                let end = deadline ?? now + wait.timeout
                deadline = end
                guard await self.wait(for: wait.condition, isViewer: wait.isViewer, until: end) else {
                    return .timedOut
                }
            }
        }
    }

    /// Returns the time for which a request waits: three target durations.
    private static func reloadTimeout(of state: borrowing State) -> TimeSpan {
        (state.packager?.targetDuration ?? assumedTargetDuration) * 3
    }

    /// Waits until a condition holds. Returns false if it does not in time, or if the task is cancelled.
    private func wait(for condition: State.Condition, isViewer: Bool, until deadline: Instant) async -> Bool {
        let number = state.withLock { $0.takeNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let request = WaitingRequest { continuation.resume(returning: $0) }
                add(request, number, waitingFor: condition, isViewer: isViewer, until: deadline)
            }
        } onCancel: {
            cancel(number, condition)
        }
    }

    /// Resumes a request once: with true when the change has happened for which it waits, and with false if it does not
    /// before a time. Returns the number of the request, with which it can be cancelled.
    func notify(_ request: WaitingRequest, after wait: Wait, until deadline: Instant) -> Int {
        let number = state.withLock { $0.takeNumber() }
        add(request, number, waitingFor: wait.condition, isViewer: wait.isViewer, until: deadline)
        return number
    }

    /// Ends a wait. Its request is resumed with false, unless it was resumed before.
    func cancel(_ number: Int, _ wait: Wait) { cancel(number, wait.condition) }

    private func cancel(_ number: Int, _ condition: State.Condition) {
        let request = state.withLock { $0.remove(number, waitingFor: condition) }
        if let request { WaitingRequest.resume([request], with: false) }
    }

    /// Adds a request that waits, or resumes it if it need not or may not wait.
    private func add(
        _ request: WaitingRequest, _ number: Int, waitingFor condition: State.Condition, isViewer: Bool,
        until deadline: Instant
    ) {
        let answer: Bool? = state.withLock { state in
            if Task.isCancelled || state.waitingCount >= Self.waitingLimit { return false }
            if state.holds(condition) { return true }
            state.add(request, number, waitingFor: condition, isViewer: isViewer, until: deadline)
            return nil
        }
        if let answer { WaitingRequest.resume([request], with: answer) }
    }
}

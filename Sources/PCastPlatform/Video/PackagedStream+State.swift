import NIOCore
import PCastCore
import PCastHLS
import PCastPackaging
import PCastSFU

extension PackagedStream {
    /// The part of a packaged stream that a lock protects.
    struct State: Sendable {
        /// A condition for which a request waits.
        enum Condition: Hashable, Sendable {
            /// A media playlist with what the directives name. The directives do not skip.
            case playlist(String, DeliveryDirectives)
            /// A change of any playlist.
            case change
        }

        private struct Waiting {
            let request: WaitingRequest
            let deadline: Instant
            /// Whether the request counts as a viewer. The request of a part does not, because a player also reloads the
            /// playlist.
            let isViewer: Bool
        }

        private struct PlaylistKey: Hashable {
            let rendition: String
            let isDelta: Bool
        }

        private struct FileKey: Hashable {
            let rendition: String
            let name: String
        }

        /// The packager; nil until ``configure(answersKeyFrameRequests:)``.
        var packager: StreamPackager?
        /// The time at which the stream ended; nil while it is live.
        private(set) var ended: Instant?
        /// The time of the last request for AAC; nil while the audio is not transcoded.
        private(set) var aacRequested: Instant?
        /// The time of the last request of a media playlist or file; nil before the first one.
        private(set) var lastRequest: Instant?
        /// The number of requests that wait.
        private(set) var waitingCount = 0

        private var configuration: PackagerConfiguration
        private let recordedLayers: Layers
        /// The highest layer that has had media, if only that is recorded; nil before.
        private var recordedLayer: Int?
        /// The renditions of the tracks that the publisher sends.
        private var tracks: [PublishedUnit.Track: RenditionDescription] = [:]
        /// The number of renditions that each track has had. Files are cached by their names, so the rendition of a track
        /// that a later publisher sends again has another name.
        private var generations: [PublishedUnit.Track: Int] = [:]
        /// The tracks whose renditions the packager has.
        private var packagedTracks: Set<PublishedUnit.Track> = []
        /// The names of renditions that were removed, whose requests are not answered yet.
        private var removed: Set<String> = []
        /// The names of the renditions with AAC, by the numbers of the audio tracks; empty while they are not transcoded.
        private var aac: [Int: String] = [:]
        /// The number of times that AAC began. Each rendition has its own name, because files are cached by their names.
        private var aacCount = 0
        /// The current playlists, of the renditions that were requested since their last change.
        private var playlists: [String: MediaPlaylist] = [:]
        private var renderings: [PlaylistKey: RenderedPlaylist] = [:]
        private var files: [FileKey: ByteBuffer] = [:]
        /// The keys of `files`, oldest first.
        private var fileOrder: [FileKey] = []
        private var waiting: [Condition: [Int: Waiting]] = [:]
        private var nextNumber = 0
        /// The first key frame and the layer that it belongs to; nil before it.
        private var firstKeyFrame: (layer: Int, time: Instant)?
        /// The time of the first audio packet; nil before it.
        private var firstAudio: Instant?
        /// Whether the layer of the first key frame has had another one.
        private var hasSecondKeyFrame = false
        /// The units since the first key frame, until there is a packager.
        private var kept: [PublishedUnit] = []
        private var keptSize = 0
        /// The last units of the audio tracks, from which AAC begins, by their numbers.
        private var recentAudio: [Int: RecentAudio] = [:]
        /// The captions that came before the packager, at most ``captionLimit``.
        private var earlyCaptions: [CaptionCue] = []
        /// The date ranges that came before the packager, at most ``dateRangeLimit``.
        private var earlyDateRanges: [DateRange] = []
        /// The times of the last requests of key frames for layers that have not begun.
        private var keyFrameRequests: [Int: Instant] = [:]
        /// The last key frames of the video.
        private(set) var keyFrames = KeyFrameCache()

        /// The time within which a publisher that makes key frames on request makes a second one.
        private static let answerTime = TimeSpan.seconds(1 as Int64)
        /// The time after the first audio packet in which the first packet of the video must arrive. Later video is added
        /// when it begins.
        private static let videoTimeout = TimeSpan.seconds(3 as Int64)
        /// The time after the first audio packet in which the first key frame must arrive: the longest usual interval of
        /// key frames, ten seconds, and two more.
        private static let keyFrameTimeout = TimeSpan.seconds(12 as Int64)
        /// The interval in which a key frame is requested for a layer that has not begun.
        private static let keyFrameRequestInterval = TimeSpan.seconds(1 as Int64)
        /// The size of kept units at which the packager is created at once, in bytes.
        private static let keptLimit = 8 << 20

        /// The number of captions that are kept until there is a packager.
        private static let captionLimit = 64
        /// The number of date ranges that are kept until there is a packager.
        private static let dateRangeLimit = 64

        /// The number of files that are kept as they are sent, beside the packager's copy: the newest parts of some
        /// renditions, which all viewers request.
        private static let fileLimit = 32

        init(
            _ configuration: PackagerConfiguration, _ codecs: [Int?: Codec], audio: [AudioTrackDescription],
            recordedLayers: Layers
        ) {
            self.configuration = configuration
            self.recordedLayers = recordedLayers
            _ = setTracks(codecs, audio: audio)
        }

        // MARK: Tracks

        /// Whether the publisher sends audio that can be packaged.
        private var hasAudio: Bool { tracks[.audio(0)] != nil }

        /// The numbers of the audio tracks.
        var audioTracks: [Int] {
            tracks.keys.compactMap { if case .audio(let number) = $0 { number } else { nil } }.sorted()
        }

        /// Whether the publisher sends video that can be packaged, so that the stream begins with a key frame.
        private var hasVideo: Bool { tracks.values.contains(where: \.isVideo) }

        /// Sets the tracks that the publisher sends, given by their codecs. `audio` describes the audio tracks, of which
        /// further ones do not come from the SFU. The renditions of other tracks are removed. Returns the new layers.
        mutating func setTracks(_ codecs: [Int?: Codec], audio: [AudioTrackDescription]) -> [Int] {
            var current: Set<PublishedUnit.Track> = []
            for (layer, codec) in codecs
            where PackagingService.codecs.contains(codec) && (layer == nil) == (codec == .opus) {
                current.insert(layer.map { .video(layer: $0) } ?? .audio(0))
            }
            if current.contains(.audio(0)) { current.formUnion(audio.indices.map { .audio($0) }) }
            for (track, rendition) in tracks where !current.contains(track) {
                packager?.remove(rendition.name)
                discardPlaylist(of: rendition.name)
                removed.insert(rendition.name)
                packagedTracks.remove(track)
                tracks[track] = nil
                if case .video(let layer) = track { keyFrames.remove(layer) }
                // The tracks are transcoded together.
                if case .audio = track { endAAC() }
            }
            let labels = AudioTrackDescription.labels(of: audio)
            var added: [Int] = []
            for track in current where tracks[track] == nil {
                let generation = generations[track, default: 0]
                generations[track] = generation + 1
                var rendition = RenditionDescription(
                    name: PackagedStream.name(of: track, generation: generation), source: .video,
                    bitrate: .kilobits(100))
                switch track {
                case .video(let layer): added.append(layer)
                case .audio(let number):
                    (rendition.source, rendition.bitrate) = (.opus(channels: 2), .kilobits(96))
                    guard audio.indices.contains(number) else { break }
                    rendition.label = labels[number]
                    rendition.language = audio[number].language?.description
                    rendition.describesVideo = audio[number].describesVideo
                }
                tracks[track] = rendition
            }
            return added.sorted()
        }

        /// Prepares for a publisher that reconnected. Without a packager, the units of the former publisher are discarded.
        mutating func restart() {
            packager?.restart()
            keyFrames.removeAll()
            recentAudio = [:]
            guard packager == nil else { return }
            (kept, keptSize, firstKeyFrame, firstAudio, hasSecondKeyFrame) = ([], 0, nil, nil, false)
        }

        // MARK: Packager

        func needsConfiguration(at now: Instant) -> Bool {
            guard packager == nil, hasVideo else { return packager == nil }
            guard let firstKeyFrame else { return firstAudio.map { now - $0 >= Self.keyFrameTimeout } ?? false }
            return hasSecondKeyFrame || keptSize >= Self.keptLimit || now - firstKeyFrame.time > Self.answerTime
        }

        func mayLackVideo(at now: Instant) -> Bool {
            guard packager == nil, hasVideo, firstKeyFrame == nil, let firstAudio else { return false }
            return now - firstAudio >= Self.videoTimeout
        }

        mutating func configure(answersKeyFrameRequests: Bool) {
            guard packager == nil else { return }
            let lacksVideo = hasVideo && firstKeyFrame == nil
            // The target duration does not change later. Video that comes later gets requests for key frames.
            configuration.answersKeyFrameRequests = answersKeyFrameRequests || lacksVideo
            let present = tracks.filter { !lacksVideo || !$0.value.isVideo }.sorted { $0.key.order < $1.key.order }
            packager = StreamPackager(configuration, renditions: present.map(\.value))
            packagedTracks = Set(present.map(\.key))
            for unit in kept { passOn(unit) }
            (kept, keptSize) = ([], 0)
            for cue in earlyCaptions { packager?.add(cue) }
            earlyCaptions = []
            for range in earlyDateRanges { packager?.add(range) }
            earlyDateRanges = []
        }

        /// Adds date ranges, or keeps them.
        mutating func add(_ ranges: [DateRange]) {
            guard packager == nil else {
                for range in ranges { packager?.add(range) }
                return
            }
            earlyDateRanges = Array((earlyDateRanges + ranges).suffix(Self.dateRangeLimit))
        }

        /// Adds captions, or keeps them. The rendition with captions begins with the first.
        mutating func add(_ cues: [CaptionCue]) {
            guard packager == nil else {
                for cue in cues { packager?.add(cue) }
                return
            }
            earlyCaptions = Array((earlyCaptions + cues).suffix(Self.captionLimit))
        }

        /// Appends a unit, or keeps it. Returns a layer of which a key frame must be requested; nil for none.
        mutating func append(_ unit: PublishedUnit, at now: Instant) -> Int? {
            keyFrames.note(unit)
            if case .audio(let number) = unit.track, tracks[unit.track] != nil {
                recentAudio[number, default: RecentAudio()].note(
                    unit, discontinuities: packager?.discontinuityCount ?? 0)
            }
            let missing = missingKeyFrame(before: unit, at: now)
            guard packager == nil else {
                passOn(unit)
                return missing
            }
            var requested = missing
            if unit.layer == nil, firstAudio == nil { firstAudio = now }
            if let layer = unit.layer, unit.isKeyFrame {
                if let firstKeyFrame {
                    hasSecondKeyFrame = hasSecondKeyFrame || firstKeyFrame.layer == layer
                } else {
                    firstKeyFrame = (layer, now)
                    requested = layer
                }
            }
            guard firstKeyFrame != nil, keptSize < Self.keptLimit else { return requested }
            kept.append(unit)
            keptSize += unit.bytes.count
            return requested
        }

        /// Returns the layer of a frame if the layer cannot begin because its first key frame was lost, once per interval.
        /// The publisher has no other reason to make one.
        private mutating func missingKeyFrame(before unit: PublishedUnit, at now: Instant) -> Int? {
            guard let layer = unit.layer, !unit.isKeyFrame, tracks[unit.track] != nil,
                !packagedTracks.contains(unit.track), packager != nil || firstKeyFrame?.layer != layer
            else { return nil }
            // The SFU requested one when it began to read.
            guard let last = keyFrameRequests[layer] else {
                keyFrameRequests[layer] = now
                return nil
            }
            guard now - last >= Self.keyFrameRequestInterval else { return nil }
            keyFrameRequests[layer] = now
            return layer
        }

        /// The timestamps from which on units may complete a part, by their tracks. AAC has those of the audio that it is
        /// transcoded from.
        var nextTimestamps: [PublishedUnit.Track: Int64] {
            guard let packager, ended == nil else { return [:] }
            var next: [PublishedUnit.Track: Int64] = [:]
            for track in packagedTracks {
                guard let name = tracks[track]?.name, var timestamp = packager.nextTimestamp(of: name) else { continue }
                if case .audio(let number) = track, let aac = aac[number] {
                    guard let other = packager.nextTimestamp(of: aac) else { continue }
                    timestamp = min(timestamp, other)
                }
                next[track] = timestamp
            }
            return next
        }

        /// Returns the last units of an audio track, from which AAC begins.
        func recentAudio(of number: Int) -> [PublishedUnit] { recentAudio[number]?.units ?? [] }

        /// Appends a unit to the packager. A track that begins later gets its rendition with the first key frame.
        private mutating func passOn(_ unit: PublishedUnit) {
            guard let rendition = tracks[unit.track] else { return }
            if !packagedTracks.contains(unit.track) {
                guard unit.isKeyFrame else { return }
                packager?.add(rendition)
                packagedTracks.insert(unit.track)
            }
            packager?.append(
                AccessUnit(
                    codec: unit.codec, bytes: unit.bytes, isKeyFrame: unit.isKeyFrame, timestamp: unit.timestamp,
                    captureTime: unit.captureTime),
                to: rendition.name)
        }

        /// Returns the parts that were published since the last call, of the layers that are recorded. Further audio tracks
        /// are not recorded.
        ///
        /// A layer that begins later replaces lower ones with its first segment, because it is not known before whether the
        /// publisher sends it.
        mutating func takeRecordedParts() -> [PublishedPart] {
            let parts = (packager?.takeParts() ?? []).filter { !PackagedStream.isFurtherAudio($0.rendition) }
            guard recordedLayers == .highest else { return parts }
            for part in parts where !part.part.isGap {
                guard let layer = PackagedStream.layer(ofName: part.rendition) else { continue }
                recordedLayer = max(layer, recordedLayer ?? layer)
            }
            return parts.filter { part in
                guard let layer = PackagedStream.layer(ofName: part.rendition) else { return true }
                return layer == recordedLayer
            }
        }

        mutating func finish(at now: Instant) {
            guard ended == nil else { return }
            ended = now
            aacRequested = nil
            packager?.finish()
        }

        // MARK: AAC

        /// Whether the audio is transcoded.
        var hasAAC: Bool { !aac.isEmpty }

        /// Whether the audio can be transcoded and is not.
        var mayBeginAAC: Bool { hasAudio && aac.isEmpty && packager != nil && ended == nil }

        /// Adds renditions with AAC of audio tracks. Returns their names by the numbers of the tracks; nil if the audio cannot
        /// be transcoded any more.
        mutating func beginAAC(_ format: AACFormat, of numbers: [Int], at now: Instant) -> [Int: String]? {
            guard mayBeginAAC else { return nil }
            for number in numbers {
                guard var rendition = tracks[.audio(number)] else { continue }
                rendition.name = PackagedStream.name(ofAAC: aacCount, track: number)
                (rendition.source, rendition.bitrate) = (.aac(format), AudioTranscoder.bitrate)
                packager?.add(rendition)
                aac[number] = rendition.name
            }
            aacCount += 1
            aacRequested = now
            return aac
        }

        /// Removes the renditions with AAC if no client has requested it for a time. Returns whether they were removed.
        mutating func endAAC(unusedFor span: TimeSpan, at now: Instant) -> Bool {
            guard let aacRequested, now - aacRequested > span else { return false }
            endAAC()
            return true
        }

        /// Removes the renditions with AAC.
        mutating func endAAC() {
            for name in aac.values {
                packager?.remove(name)
                discardPlaylist(of: name)
                removed.insert(name)
            }
            aac = [:]
            aacRequested = nil
        }

        /// Records that a client requests AAC, or a list that contains it.
        mutating func noteAAC(at now: Instant) { if !aac.isEmpty, ended == nil { aacRequested = now } }

        /// Records a request of a rendition's playlist or file.
        mutating func noteRequest(of name: String, at now: Instant) {
            lastRequest = now
            if aac.values.contains(name) { noteAAC(at: now) }
        }

        /// Whether the multivariant playlist with an audio codec is not complete yet: the stream, or a rendition with AAC, has
        /// only begun.
        func isBeginning(_ audio: PlaylistAudio) -> Bool {
            guard ended == nil else { return false }
            let sources = aac.keys.compactMap { tracks[.audio($0)]?.name }
            let others = Set(audio == .aac ? sources : Array(aac.values))
            let names = (packager?.names ?? []).filter { !others.contains($0) && $0 != StreamPackager.captionsName }
            // Tracks that the publisher does not send have no playlist. AAC is awaited for those that it sends.
            let awaited = aac.filter { number, _ in
                number == 0 || tracks[.audio(number)].map { hasSegment($0.name) } ?? false
            }.values
            let begun = names.filter { awaited.contains($0) || packager?.segmentCount(of: $0) != nil }
            let hasBegunVideo = begun.contains { $0.hasPrefix(PackagedStream.videoPrefix) }
            let lacksVideo = packagedTracks.contains { $0.isVideo } && !hasBegunVideo
            return begun.isEmpty || lacksVideo || !begun.allSatisfy { hasSegment($0) }
        }

        /// Returns whether a rendition has a complete segment.
        private func hasSegment(_ name: String) -> Bool { packager?.segmentCount(of: name) ?? 0 > 0 }

        /// Returns the multivariant playlist with an audio codec, or with the other one if it is not available; nil if the
        /// stream has no segments yet. Renditions without a segment are left out.
        func multivariantPlaylist(_ audio: PlaylistAudio) -> MultivariantPlaylist? {
            guard var playlist = packager?.multivariantPlaylist else { return nil }
            let ready = Set((packager?.names ?? []).filter { hasSegment($0) }.map { "\($0).m3u8" })
            playlist.renditions.removeAll { $0.kind == .audio && !ready.contains($0.uri ?? "") }
            playlist.variants.removeAll { !ready.contains($0.uri) }
            playlist.limitAudio(to: audio)
            return playlist.variants.isEmpty ? nil : playlist
        }

        // MARK: Playlists and files

        private mutating func playlist(of name: String) -> MediaPlaylist? {
            if let playlist = playlists[name] { return playlist }
            let playlist = packager?.mediaPlaylist(of: name)
            playlists[name] = playlist
            return playlist
        }

        private mutating func discardPlaylist(of name: String) {
            playlists[name] = nil
            for isDelta in [false, true] { renderings[PlaylistKey(rendition: name, isDelta: isDelta)] = nil }
        }

        /// Returns how a request of a playlist is answered now.
        mutating func answer(to directives: DeliveryDirectives, for name: String) -> ReloadAnswer {
            guard let packager else {
                let isExpected = tracks.values.contains { $0.name == name } && ended == nil
                return isExpected ? .wait : .unknown
            }
            guard let playlist = playlist(of: name) else { return packager.answer(to: directives, for: name) }
            return playlist.answer(to: directives)
        }

        /// Returns the playlist of a rendition as it is sent; nil if there is none. It is rendered once after a change.
        mutating func rendered(_ name: String, isDelta: Bool) -> RenderedPlaylist? {
            let key = PlaylistKey(rendition: name, isDelta: isDelta)
            if let rendering = renderings[key] { return rendering }
            guard let playlist = playlist(of: name) else { return nil }
            let result = RenderedPlaylist(isDelta ? playlist.deltaUpdate : playlist.text)
            renderings[key] = result
            return result
        }

        /// Returns a media file; nil if there is none.
        mutating func file(_ fileName: String, of name: String) -> ByteBuffer? {
            let key = FileKey(rendition: name, name: fileName)
            if let file = files[key] { return file }
            guard
                let file = PackagedFile(
                    name: fileName, instance: configuration.instance, isText: name == StreamPackager.captionsName),
                let bytes = packager?.file(file, of: name)
            else { return nil }
            let buffer = ByteBuffer(bytes: bytes)
            files[key] = buffer
            fileOrder.append(key)
            if fileOrder.count > Self.fileLimit { files[fileOrder.removeFirst()] = nil }
            return buffer
        }

        /// Returns a segment that is only on a disk; nil for other files.
        func storedFile(_ fileName: String, of name: String) -> StoredMedia? {
            guard name != StreamPackager.captionsName,
                let file = PackagedFile(name: fileName, instance: configuration.instance)
            else { return nil }
            return packager?.storedFile(file, of: name)
        }

        /// Returns the directives of the part that a file is, if the playlist hints at it; nil otherwise.
        mutating func hintedPart(_ fileName: String, of name: String) -> DeliveryDirectives? {
            guard
                case .part(let segment, let part) = PackagedFile(
                    name: fileName, instance: configuration.instance, isText: name == StreamPackager.captionsName),
                let playlist = playlist(of: name),
                playlist.preloadHints.contains(where: { $0.uri == "\(name)/\(fileName)" })
            else { return nil }
            return DeliveryDirectives(segment: segment, part: Int64(part))
        }

        // MARK: Waiting requests

        /// The number of viewers that wait for a part. A player waits for one rendition with video, and for one with
        /// audio.
        var viewerCount: Int {
            var (video, audio) = (0, 0)
            for (condition, requests) in waiting {
                guard case .playlist(let name, _) = condition, name != StreamPackager.captionsName else { continue }
                let count = requests.values.count(where: \.isViewer)
                if name.hasPrefix(PackagedStream.videoPrefix) { video += count } else { audio += count }
            }
            return max(video, audio)
        }

        /// Returns whether a request of a rendition's playlist uses the quota of viewers. A player requests the playlist of
        /// the video, that of the audio and that of the captions, and only the first counts.
        func countsViewers(of name: String) -> Bool {
            name.hasPrefix(PackagedStream.videoPrefix) || !hasVideo && name != StreamPackager.captionsName
        }

        /// Returns a number for a request.
        mutating func takeNumber() -> Int {
            nextNumber += 1
            return nextNumber
        }

        /// Returns whether a request need not wait.
        mutating func holds(_ condition: Condition) -> Bool {
            guard case .playlist(let name, let directives) = condition else { return ended != nil }
            return answer(to: directives, for: name) != .wait
        }

        mutating func add(
            _ request: WaitingRequest, _ number: Int, waitingFor condition: Condition, isViewer: Bool,
            until deadline: Instant
        ) {
            waiting[condition, default: [:]][number] = Waiting(
                request: request, deadline: deadline, isViewer: isViewer)
            waitingCount += 1
        }

        /// Removes a request; nil if it is not waiting any more.
        mutating func remove(_ number: Int, waitingFor condition: Condition) -> WaitingRequest? {
            guard let removed = waiting[condition]?.removeValue(forKey: number) else { return nil }
            if waiting[condition]?.isEmpty == true { waiting[condition] = nil }
            waitingCount -= 1
            return removed.request
        }

        /// Discards the rendered playlists that changed, and removes the requests that they answer.
        mutating func takeAnswered(changed: Set<String>) -> [WaitingRequest] {
            let names = changed.union(removed)
            removed = []
            guard !names.isEmpty || ended != nil else { return [] }
            for name in names { discardPlaylist(of: name) }
            var answered: [WaitingRequest] = []
            for condition in Array(waiting.keys) {
                if case .playlist(let name, let directives) = condition, ended == nil {
                    guard names.contains(name), answer(to: directives, for: name) != .wait else { continue }
                }
                guard let requests = waiting.removeValue(forKey: condition) else { continue }
                waitingCount -= requests.count
                answered += requests.values.map(\.request)
            }
            return answered
        }

        /// Removes the requests whose time is over.
        mutating func takeOverdue(at now: Instant) -> [WaitingRequest] {
            var overdue: [WaitingRequest] = []
            for (condition, requests) in waiting {
                for (number, waiting) in requests where waiting.deadline <= now {
                    if let request = remove(number, waitingFor: condition) { overdue.append(request) }
                }
            }
            return overdue
        }
    }
}

extension PublishedUnit.Track {
    /// Whether the track is a layer of the video.
    fileprivate var isVideo: Bool { if case .video = self { true } else { false } }

    /// The place in the order of renditions: the layers of the video, and then the audio.
    fileprivate var order: Int {
        switch self {
        case .video(let layer): layer
        case .audio(let number): 1_000 + number
        }
    }
}

internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import PCastIO

/// The reader of a presentation in HTTP Live Streaming. It merges the audio and video of one or two renditions in
/// decoding order, with subtitles and metadata. It is not thread-safe.
final class HLSReading {
    let name: String
    let presentation: HLSPresentation
    private let fetcher: HLSFetcher
    private let steering: SteeringFollower?
    private let wait: ReaderWait
    private let main: RenditionReader
    private var audio: RenditionReader?
    private var subtitles: SubtitleReader?
    private var clocks = MediaClocks()
    private let decoder = PresentationDecoder()
    /// The decoded items.
    private var waiting: [ContentItem] = []
    /// The number of items that were delivered.
    private var given = 0
    private var hasGivenAny = false
    private var isDrained = false
    /// The failure after all items were delivered; nil for none.
    private var failure: PlaybackError?
    /// The position of the last delivered item.
    private(set) var position = TimeSpan.zero
    private var audioEnd = TimeSpan.zero
    /// The end of the delivered frames, or of the audio without video.
    var end: TimeSpan { selected[.video] == nil ? audioEnd : frameEnd }
    private var frameEnd = TimeSpan.zero
    /// The position of the last delivered frame since the last seek; nil for none.
    private var shown: TimeSpan?
    /// The recent metadata of tags and messages, because a segment may be read again.
    private var deliveredMetadata: [TimedMetadata] = []
    private static let rememberedLimit = 256
    private var reportedRanges: Set<String> = []
    private var rangesVersion = -1
    private var ranges: [TimedMetadata] = []

    private(set) var selected: [ContentTrack.Kind: Int] = [:]
    /// The wall-clock times from timed metadata.
    private(set) var anchors = MetadataAnchors()

    /// The loader of the main rendition.
    var loader: RenditionLoader { main.loader }

    /// The loaders of all renditions.
    var loaders: [RenditionLoader] { [main.loader] + [audio?.loader, subtitles?.loader].compactMap(\.self) }

    /// Creates a reader, which begins to load. `aligned` is the timeline whose positions it continues; nil for none.
    init(
        _ presentation: HLSPresentation, name: String, fetcher: HLSFetcher, wait: ReaderWait,
        first: (MediaPlaylist, base: String)?, alignedWith aligned: PlaylistTimeline? = nil
    ) {
        (self.presentation, self.name, self.fetcher, self.wait) = (presentation, name, fetcher, wait)
        steering = presentation.steering.map { SteeringFollower($0, fetcher: fetcher) }
        let loader = RenditionLoader(
            presentation.variants, fetcher: fetcher, bounds: .media, usesParts: true, wait: wait, alignedWith: aligned,
            first: first, steering: steering)
        main = RenditionReader(loader, wanted: [.video, .audio, .metadata], wait: wait)
    }

    /// Ends all transfers.
    func stop() {
        for loader in loaders { loader.stop() }
        steering?.stop()
    }

    /// The time that is left for loading before the first frame is due with a playout delay.
    private static let loadingTime = TimeSpan.milliseconds(500)

    /// Waits for the playlist and the beginning of the first segment, and returns the start position. `playoutDelay` is
    /// the time from capture at which frames of a live presentation are displayed; nil for the least. Throws a
    /// ``PlaybackError`` if this fails.
    func open(playoutDelay: TimeSpan? = nil) throws(PlaybackError) -> TimeSpan {
        let timeline = try waitForTimeline()
        let usesParts = timeline.playlist.partTargetDuration != nil
        var start = startPosition(on: timeline, playoutDelay, leaving: Self.loadingTime)
        if let typical = presentation.defaultAudio { try choose(audio: typical, at: start, of: timeline) }
        _ = seek(to: start)
        _ = try main.head(&clocks, name)
        // While the first part was loaded, the live edge advanced, and playback must begin at the new default distance.
        if usesParts, let now = main.loader.timeline, now.playlist.isLive {
            let later = startPosition(on: now, playoutDelay, leaving: .zero)
            if later >= start + (now.playlist.partTargetDuration ?? .zero) {
                start = startPosition(on: now, playoutDelay, leaving: Self.loadingTime)
                _ = seek(to: start)
                _ = try main.head(&clocks, name)
            }
        }
        selected[.video] = main.media.contains(.video) ? 0 : nil
        if presentation.audioRenditions.isEmpty, main.media.contains(.audio) { selected[.audio] = 0 }
        return start
    }

    /// Returns the default start position. With a playout delay, it is the position of the frame that is due `time` from
    /// now, if this is earlier than the default distance from the live edge.
    private func startPosition(
        on timeline: PlaylistTimeline, _ playoutDelay: TimeSpan?, leaving time: TimeSpan
    ) -> TimeSpan {
        let usesParts = timeline.playlist.partTargetDuration != nil
        let typical = timeline.startPosition(usingParts: usesParts, default: presentation.start)
        guard let playoutDelay, timeline.playlist.isLive, timeline.playlist.start == nil, presentation.start == nil,
            let due = timeline.position(of: MonotonicClock.wallTime() - playoutDelay + time)
        else { return typical }
        return max(min(due, typical), timeline.seekableRange(usingParts: usesParts).lowerBound)
    }

    /// Waits for the playlist of the main rendition.
    private func waitForTimeline() throws(PlaybackError) -> PlaylistTimeline {
        let loader = main.loader
        let result = wait.wait { () -> Result<PlaylistTimeline, PlaybackError>? in
            if let timeline = loader.timeline { return .success(timeline) }
            return loader.failure.map { .failure($0.playbackError(self.name)) }
        }
        guard let result else {
            _ = wait.takeInterruption()
            throw .interrupted
        }
        return try result.get()
    }

    // MARK: Tracks

    /// The tracks of the presentation.
    var tracks: [ContentTrack] {
        var tracks: [ContentTrack] = []
        if main.media.contains(.video) { tracks.append(ContentTrack(id: Self.id(.video, 0), kind: .video)) }
        if presentation.audioRenditions.isEmpty, main.media.contains(.audio) {
            tracks.append(ContentTrack(id: Self.id(.audio, 0), kind: .audio))
        }
        for (kind, renditions) in [
            (ContentTrack.Kind.audio, presentation.audioRenditions), (.subtitles, presentation.subtitles),
        ] {
            for (index, rendition) in renditions.enumerated() {
                tracks.append(
                    ContentTrack(
                        id: Self.id(kind, index), kind: kind, name: rendition.name, language: rendition.language))
            }
        }
        return tracks
    }

    /// Returns the ID of a track.
    static func id(_ kind: ContentTrack.Kind, _ index: Int) -> ContentTrack.ID {
        ContentTrack.ID(rawValue: "\(kind.rawValue)/\(index)")
    }

    /// Selects a rendition of a kind by its index, or none if `index` is nil.
    func select(_ index: Int?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        guard selected[kind] != index else { return }
        let timeline = try waitForTimeline()
        switch kind {
        case .video:
            selected[.video] = index
            if index == nil { main.drop(.video) } else { main.take(up: .video) }
        case .audio: try choose(audio: index, at: max(audioEnd, position), of: timeline)
        case .subtitles:
            subtitles?.loader.stop()
            subtitles = nil
            selected[.subtitles] = index
            guard let index else { return }
            subtitles = SubtitleReader(loader(of: presentation.subtitleVariants[index], .text, timeline))
            subtitles?.seek(to: position)
        }
    }

    /// Selects what another reader of the presentation has selected, if it still exists.
    func select(like former: HLSReading) throws(PlaybackError) {
        let renditions = [
            (ContentTrack.Kind.audio, presentation.audioRenditions, former.presentation.audioRenditions),
            (.subtitles, presentation.subtitles, former.presentation.subtitles),
        ]
        for (kind, own, others) in renditions where !own.isEmpty {
            guard let index = former.selected[kind] else {
                try select(nil, of: kind)
                continue
            }
            guard others.indices.contains(index) else { continue }
            let same = own.firstIndex { $0.name == others[index].name && $0.language == others[index].language }
            if let same { try select(same, of: kind) }
        }
        if former.main.media.contains(.video), former.selected[.video] == nil { try select(nil, of: .video) }
    }

    /// Selects an audio rendition, which begins at a position.
    private func choose(audio index: Int?, at position: TimeSpan, of timeline: PlaylistTimeline) throws(PlaybackError) {
        audio?.loader.stop()
        audio = nil
        selected[.audio] = index
        waiting = waiting[given...].filter { if case .audio = $0 { false } else { true } }
        given = 0
        decoder.discard(.audio)
        guard let index else { return main.drop(.audio) }
        guard !presentation.audioRenditions.isEmpty, presentation.audioRenditions[index].uri != nil else {
            return main.take(up: .audio)
        }
        main.drop(.audio)
        let reader = RenditionReader(
            loader(of: presentation.audioVariants[index], .audio, timeline), wanted: [.audio], wait: wait)
        reader.seek(to: position)
        audio = reader
    }

    /// Returns a loader for a rendition with alternative addresses, in descending order of preference.
    private func loader(
        of addresses: RenditionVariants, _ bounds: LoaderBounds, _ timeline: PlaylistTimeline
    ) -> RenditionLoader {
        var variants = addresses
        variants.variables = presentation.variants.variables
        return RenditionLoader(
            variants, fetcher: fetcher, bounds: bounds, usesParts: true, wait: wait, alignedWith: timeline,
            steering: addresses.pathways.isEmpty ? nil : steering)
    }

    // MARK: Reading

    /// Seeks all renditions to a position, and returns it.
    func seek(to position: TimeSpan) -> TimeSpan {
        waiting.removeAll()
        (given, isDrained, failure) = (0, false, nil)
        (self.position, audioEnd, frameEnd, shown) = (position, position, position, nil)
        deliveredMetadata.removeAll()
        reportedRanges.removeAll()
        main.seek(to: position)
        audio?.seek(to: position)
        subtitles?.seek(to: position)
        decoder.begin(at: position)
        return position
    }

    /// Returns the next item; nil at the end.
    func next() throws(PlaybackError) -> ContentItem? {
        while given == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            given = 0
            if let failure { throw failure }
            if isDrained {
                guard hasGivenAny else { throw .notPlayable(name, reason: "none of its media could be decoded") }
                return nil
            }
            do throws(PlaybackError) {
                try readOn()
            } catch {
                guard error != .interrupted else { throw error }
                // The frames that the decoder holds back are delivered before the failure.
                failure = error
                append((try? decoder.drain()) ?? [])
            }
        }
        let item = waiting[given]
        given += 1
        switch item {
        case .frame(_, let time, let duration):
            hasGivenAny = true
            (position, shown, frameEnd) = (time, time, time + (duration ?? .zero))
            main.loader.read(to: frameEnd)
        case .audio(let audio, let time):
            hasGivenAny = true
            audioEnd = time + audio.length
            if selected[.video] == nil { position = time }
            (self.audio ?? main).loader.read(to: selected[.video] == nil ? audioEnd : max(position, .zero))
        case .subtitle, .metadata, .overview: break
        }
        return item
    }

    /// Decodes the next packet in decoding order.
    private func readOn() throws(PlaybackError) {
        let frames = try main.head(&clocks, name)
        if let back = main.takeReturn() { return try restartFromVariant(back) }
        let audioFrames: RenditionReader.Head
        if let audio { audioFrames = try audio.head(&clocks, name) } else { audioFrames = .end }
        let (reader, time, medium): (RenditionReader, TimeSpan, PresentationMedium)
        switch (frames, audioFrames) {
        case (.end, .end):
            isDrained = true
            // The messages of the last segment are known when it was read to its end.
            append(main.takeMessages() + (audio?.takeMessages() ?? []))
            do throws(CodecError) { append(try decoder.drain()) } catch { throw .notPlayable(name, reason: "\(error)") }
            return
        case (.packet(let time1, let medium1), .end): (reader, time, medium) = (main, time1, medium1)
        case (.end, .packet(let time2, let medium2)): (reader, time, medium) = (audio!, time2, medium2)
        case (.packet(let time1, let medium1), .packet(let time2, let medium2)):
            (reader, time, medium) = time1 <= time2 ? (main, time1, medium1) : (audio!, time2, medium2)
        }
        notify(of: reader, to: time)
        guard let packet = reader.take(medium) else { return }
        do throws(CodecError) { append(try decoder.decode(packet)) } catch {
            throw .notPlayable(name, reason: "\(error)")
        }
    }

    /// Restarts with a segment of another variant, which replaces one that was partly read. All items that were
    /// delivered are skipped.
    private func restartFromVariant(_ back: RenditionReader.Return) throws(PlaybackError) {
        do throws(CodecError) {
            append(
                try decoder.begin(behind: shown, before: back.firstFrame, audio: audio == nil ? audioEnd : nil))
        } catch { throw .notPlayable(name, reason: "\(error)") }
    }

    /// Adds decoded samples.
    private func append(_ samples: [PresentationSample]) {
        for sample in samples {
            if case .metadata(let bytes, let position) = sample {
                append(TimedMetadata.all(inTags: bytes, at: position))
            } else if let item = ContentItem(sample) {
                waiting.append(item)
            }
        }
    }

    /// Adds metadata that was not delivered before.
    private func append(_ metadata: [TimedMetadata]) {
        for metadata in metadata where !deliveredMetadata.contains(metadata) {
            deliveredMetadata.append(metadata)
            if deliveredMetadata.count > Self.rememberedLimit { deliveredMetadata.removeFirst() }
            waiting.append(.metadata(metadata))
            anchors.learn(from: metadata)
        }
    }

    /// Adds event messages, subtitles and date ranges up to a time.
    private func notify(of reader: RenditionReader, to time: TimeSpan) {
        append(reader.takeMessages())
        if let subtitles { waiting += subtitles.read(to: time, clocks) }
        let version = main.loader.version
        if version != rangesVersion, let timeline = main.loader.timeline {
            rangesVersion = version
            let all = timeline.playlist.dateRanges
            ranges = all.compactMap { range in
                timeline.position(of: range.start).map { TimedMetadata(range, in: all, at: $0) }
            }
        }
        for range in ranges where range.start <= time && range.start >= position - .seconds(1 as Int64) {
            if reportedRanges.insert(range.identifier ?? "").inserted { waiting.append(.metadata(range)) }
        }
    }
}

/// The limits of the media that a loader keeps.
struct LoaderBounds: Sendable {
    /// The maximum duration ahead of the position.
    var ahead: TimeSpan
    /// The duration behind the position that is kept, for seeks without loading.
    var behind: TimeSpan
    /// The maximum size of all segments in bytes. One segment is always kept.
    var bytes: Int

    /// The limits for video, with or without audio.
    static let media = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 48 << 20)
    /// The limits for an audio rendition.
    static let audio = LoaderBounds(
        ahead: .seconds(30 as Int64), behind: .seconds(10 as Int64), bytes: 8 << 20)
    /// The limits for subtitles.
    static let text = LoaderBounds(
        ahead: .seconds(60 as Int64), behind: .seconds(10 as Int64), bytes: 1 << 20)
}

/// Reads a subtitle rendition as far as it is loaded. Playback does not wait for it. It is not thread-safe.
final class SubtitleReader {
    let loader: RenditionLoader
    private var segment: LoadedSegment?
    private var isNextWanted = false
    /// The number of bytes of the segment that were looked at.
    private var readCount = 0
    /// The track of the segment, and the number of its bytes whose cues were read; nil if it is no fragmented MP4.
    private var fragmented: (track: FragmentedSubtitles, position: Int)?
    private var cues: [(text: String, range: ClosedRange<TimeSpan>)] = []
    private var seen: Set<WebVTTSegment.Cue> = []

    /// The maximum number of cues that are remembered to detect repetitions.
    private static let seenLimit = 1_000

    /// Creates a reader.
    init(_ loader: RenditionLoader) { self.loader = loader }

    /// Seeks to a position.
    func seek(to position: TimeSpan) {
        segment = loader.seek(to: position)
        (isNextWanted, readCount, fragmented) = (false, 0, nil)
        cues.removeAll()
        seen.removeAll()
    }

    /// Returns the subtitles that begin up to a position, each once. `clocks` are those of audio and video; a segment
    /// with an unknown clock waits until they set it.
    func read(to position: TimeSpan, _ clocks: MediaClocks) -> [ContentItem] {
        while let next = nextSegment(upTo: position) {
            guard let offset = clocks.offset(of: next) else { break }
            // The parts of a segment that is still produced are read when they arrive.
            isNextWanted = next.bytes.isComplete
            take(next, offset, isComplete: isNextWanted)
            guard isNextWanted else { break }
        }
        let due = cues.prefix { $0.range.lowerBound <= position }
        cues.removeFirst(due.count)
        if !due.isEmpty { loader.read(to: position) }
        return due.map { .subtitle($0.text, $0.range) }
    }

    /// Returns the next segment if it begins at most one second after a position; nil otherwise.
    private func nextSegment(upTo position: TimeSpan) -> LoadedSegment? {
        if segment == nil || isNextWanted {
            guard case .segment(let next)? = loader.next(after: segment) else { return nil }
            (segment, isNextWanted, readCount, fragmented) = (next, false, 0, nil)
        }
        guard let segment, segment.start <= position + .seconds(1 as Int64) else { return nil }
        return segment
    }

    /// Adds the cues of a segment. Those of a segment that is not complete are added once they are.
    private func take(_ segment: LoadedSegment, _ offset: TimeSpan, isComplete: Bool) {
        guard isComplete || segment.bytes.count != readCount else { return }
        let bytes = segment.bytes.all
        readCount = bytes.count
        guard let text = text(of: segment, bytes, isComplete: isComplete) else { return }
        if seen.count > Self.seenLimit { seen.removeAll() }
        // A cue that extends over several segments is in each of them.
        for cue in text.cues where seen.insert(cue).inserted {
            let start = MediaClocks.unwound(
                cue.start + text.clockOffset + offset, near: segment.start, SegmentDemuxer.Container.mpegTS.wrap)
            cues.append((cue.text, start...(start + (cue.end - cue.start))))
        }
        cues.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// Returns the cues of a segment: a file of WebVTT, or WebVTT or TTML in fragmented MP4. Nil if it is neither.
    private func text(of segment: LoadedSegment, _ bytes: [UInt8], isComplete: Bool) -> WebVTTSegment? {
        guard SegmentDemuxer.Container(sniffing: bytes) == .fragmentedMP4 else {
            return WebVTTSegment(isComplete ? bytes : WebVTTSegment.completePrefix(of: bytes))
        }
        if fragmented == nil {
            // Each segment may contain its own initialization section.
            let initialization = segment.initialization.isEmpty ? bytes : segment.initialization
            fragmented = FragmentedSubtitles(initialization: initialization).map { ($0, 0) }
        }
        guard let track = fragmented?.track, var position = fragmented?.position else { return nil }
        let cues = track.cues(in: bytes, after: &position, isComplete: isComplete)
        fragmented?.position = position
        return WebVTTSegment(cues: cues)
    }
}

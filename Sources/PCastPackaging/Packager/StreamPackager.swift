package import PCastCore
package import PCastHLS

/// Packages a stream: access units with capture times in; initialization segments, parts, segments and playlists out.
///
/// It is a state machine without clock and I/O. Media times run on the capture clock, so that all renditions are
/// synchronized and `EXT-X-PROGRAM-DATE-TIME` states the time of capture. Memory is bounded by the window
/// (``PackagerConfiguration``). Access units must come in presentation order; others are dropped.
package struct StreamPackager: Sendable {
    /// The settings.
    package let configuration: PackagerConfiguration
    private var renditions: [RenditionPackager]
    /// The captions; nil before the first cue.
    private var captions: CaptionPackager?
    /// The date ranges that the playlists of tracks list.
    private var dateRanges = PlaylistDateRanges()
    private var clock: PackagerClock
    /// Whether the stream has ended.
    package private(set) var isFinished = false

    /// Creates a packager of renditions, whose names must be different.
    package init(_ configuration: PackagerConfiguration, renditions: [RenditionDescription]) {
        precondition(Set(renditions.map(\.name)).count == renditions.count, "two renditions have the same name")
        self.configuration = configuration
        self.renditions = renditions.map { RenditionPackager($0) }
        clock = PackagerClock(configuration, hasVideo: renditions.contains(where: \.isVideo))
    }

    // MARK: Renditions

    /// Adds a rendition, which begins with its next access unit. Its name must not have been used before, because files
    /// are cached by their names.
    package mutating func add(_ rendition: RenditionDescription) {
        precondition(index(rendition.name) == nil, "two renditions have the same name")
        renditions.append(RenditionPackager(rendition))
    }

    /// Removes a rendition with its files. It does nothing for an unknown one.
    package mutating func remove(_ name: String) { renditions.removeAll { $0.description.name == name } }

    /// The name of the rendition with captions.
    package static let captionsName = "captions"

    /// Adds a caption, whose times are on the capture clock. The rendition with captions begins with the first one, and
    /// follows the segments of the video, or of the audio if there is no video.
    package mutating func add(_ cue: CaptionCue) {
        guard !isFinished else { return }
        var packager = captions ?? CaptionPackager(name: Self.captionsName)
        packager.add(cue)
        captions = packager
    }

    /// Adds a date range, whose times are on the capture clock. Each playlist of a track lists it when the media of the
    /// playlist has reached its start, so that nobody learns of it before.
    package mutating func add(_ range: DateRange) {
        guard !isFinished else { return }
        dateRanges.add(range)
        trimDateRanges()
    }

    /// Removes the date ranges that no playlist lists any more.
    private mutating func trimDateRanges() {
        guard dateRanges.count > 0 else { return }
        var (first, end): (WallTime?, WallTime?) = (nil, nil)
        for rendition in renditions {
            guard let start = (rendition.segments.first ?? rendition.open)?.wallTime,
                let last = rendition.open ?? rendition.segments.last
            else { continue }
            first = min(first ?? start, start)
            end = max(end ?? last.end, last.end)
        }
        if let first, let end { dateRanges.trim(before: first, end: end) }
    }

    // MARK: Input

    /// Adds an access unit of a rendition. Units of unknown renditions are ignored.
    package mutating func append(_ unit: AccessUnit, to name: String) {
        guard let index = index(name), !isFinished else { return }
        renditions[index].append(unit, &clock)
        captions?.follow(renditions, &clock)
    }

    /// Marks frames before the next unit of a rendition as lost.
    package mutating func framesLost(in name: String) {
        guard let index = index(name) else { return }
        renditions[index].framesLost(&clock)
    }

    /// Prepares for a publisher that reconnected: its timestamps begin again, and a discontinuity follows.
    package mutating func restart() {
        for index in renditions.indices { renditions[index].restart(&clock) }
    }

    /// States the absence of media that should have arrived by a time. Call it at least once per part.
    package mutating func advance(to now: WallTime) {
        guard clock.origin != nil, let time = clock.mediaTime(of: now) else { return }
        for index in renditions.indices { renditions[index].advance(to: time, &clock) }
        captions?.follow(renditions, &clock)
        trimDateRanges()
    }

    /// Removes the oldest segments of all renditions until the bytes in memory, and those in files of the window, are
    /// within limits. At least three target durations of each rendition remain.
    package mutating func limitWindow(to size: Int, storedSize limit: Int = .max) {
        var excess = (memory: memorySize - size, stored: storedSize - limit)
        while excess.memory > 0 || excess.stored > 0 {
            var oldest: (index: Int, start: WallTime)?
            for index in renditions.indices where renditions[index].canRemoveFirst(clock) {
                guard let start = renditions[index].segments.first?.wallTime else { continue }
                if oldest.map({ start < $0.start }) ?? true { oldest = (index, start) }
            }
            guard let oldest else { return }
            let removed = renditions[oldest.index].removeFirst(&clock)
            excess.memory -= removed.memory
            excess.stored -= removed.stored
        }
    }

    // MARK: Storage

    /// Takes segments whose media are to be stored in files.
    ///
    /// - Parameters:
    ///   - count: The maximum number of segments of a rendition.
    ///   - delay: The duration before the memory window in which segments are not taken, because they will be stored in
    ///     another way.
    /// - Returns: Complete segments before the memory window, oldest first within each rendition, each once.
    package mutating func takeUnstored(count: Int, delay: TimeSpan = .zero) -> [UnstoredSegment] {
        renditions.indices.flatMap { renditions[$0].takeUnstored(count: count, delay: delay) }
    }

    /// Records that segments could not be stored, so that ``takeUnstored(count:delay:)`` returns them again.
    package mutating func setUnstored(_ segments: [UnstoredSegment]) {
        for segment in segments {
            guard let index = index(segment.rendition) else { continue }
            renditions[index].nextUnstored = min(renditions[index].nextUnstored, segment.number)
        }
    }

    /// Records that the media of a segment are stored in a file. They leave memory when the segment leaves the memory
    /// window. It does nothing for a segment that left the playlist, that is stored already, or that has another size.
    package mutating func setStored(_ media: StoredMedia, for number: Int64, of name: String) {
        guard let index = index(name) else { return }
        renditions[index].setStored(media, for: number)
    }

    /// Returns the number of bytes and parts of a segment in the playlist that is in memory; nil for others.
    package func contents(of number: Int64, in name: String) -> (size: Int, parts: Int)? {
        guard let index = index(name), let segment = renditions[index].completeSegment(number), segment.isInMemory
        else { return nil }
        return (segment.size, segment.parts.count)
    }

    /// Returns a segment whose media are only in a file, as it is delivered; nil for other files. Segments of tracks are
    /// encrypted if the configuration says so.
    package func storedFile(_ file: PackagedFile, of name: String) -> StoredMedia? {
        guard case .segment(let number) = file, let segment = rendition(named: name)?.completeSegment(number),
            !segment.isInMemory, let stored = segment.stored
        else { return nil }
        guard let key = segment.key else { return stored }
        guard let encryption = configuration.encryption, let key = index(name).flatMap({ renditions[$0].keys[key] })
        else { return nil }
        let vector = EncryptionKey(uri: "").initializationVector(forSegment: number)
        return StoredMedia(size: stored.size, belongsToWindow: stored.belongsToWindow) {
            encryption.encrypt(try stored.read(), key, vector)
        }
    }

    /// Ends the stream. Playlists then end with `EXT-X-ENDLIST`.
    package mutating func finish() {
        isFinished = true
        for index in renditions.indices { renditions[index].finish(&clock) }
        captions?.follow(renditions, &clock)
        captions?.finish(&clock)
    }

    // MARK: Output

    /// Returns what happened since the last call.
    package mutating func takeUpdates() -> PackagerUpdates {
        defer { clock.updates = PackagerUpdates() }
        return clock.updates
    }

    /// Returns the parts that were published since the last call, in order within each rendition. They are kept until
    /// they leave the window, so call it after each change if they are recorded, or never.
    package mutating func takeParts() -> [PublishedPart] {
        renditions.indices.flatMap { renditions[$0].takeParts() }
    }

    /// Returns the timestamp from which on a unit of a rendition may complete a part or need a key frame of the publisher.
    /// Units before it may be appended later, together. Nil if any unit may, and for an unknown rendition.
    package func nextTimestamp(of name: String) -> Int64? {
        index(name).flatMap { renditions[$0].nextTimestamp(clock) }
    }

    /// The names of the renditions, in the order in which they were given, and that of the captions.
    package var names: [String] { allRenditions.map(\.name) }

    /// The renditions of tracks, and the captions.
    private var allRenditions: [any ListedRendition] {
        var all: [any ListedRendition] = renditions
        if let captions { all.append(captions) }
        return all
    }

    /// The target duration of all playlists; nil until it is fixed.
    package var targetDuration: TimeSpan? { clock.targetDuration }

    /// The number of discontinuities so far.
    package var discontinuityCount: Int64 { clock.discontinuities }

    /// The bytes of the segments in the playlists.
    package var windowSize: Int { renditions.reduce(0) { $0 + $1.windowSize } }

    /// The bytes in memory of the segments in the playlists.
    package var memorySize: Int { renditions.reduce(0) { $0 + $1.memorySize } }

    /// The bytes in files of the window of the segments in the playlists.
    package var storedSize: Int { renditions.reduce(0) { $0 + $1.storedSize } }

    /// The bytes of media that the packager holds.
    package var heldSize: Int {
        renditions.reduce(captions?.heldSize ?? 0) { sum, rendition in
            sum + rendition.memorySize + rendition.retired.reduce(0) { $0 + $1.memorySize }
                + (rendition.open?.size ?? 0)
        }
    }

    /// The number of access units of a rendition that were dropped; 0 for an unknown one.
    package func droppedUnits(of name: String) -> Int { index(name).map { renditions[$0].droppedUnits } ?? 0 }

    /// Returns a media file or a key of a rendition from memory; nil if there is none. The file of a gap has no media.
    /// Segments and parts of tracks are encrypted if the configuration says so. See ``storedFile(_:of:)``.
    package func file(_ file: PackagedFile, of name: String) -> [UInt8]? {
        guard let rendition = rendition(named: name) else { return nil }
        switch file {
        case .initialization(let number): return index(name).flatMap { renditions[$0].initializations[number] }
        case .key(let number): return index(name).flatMap { renditions[$0].keys[number] }
        case .segment(let number):
            guard let segment = rendition.completeSegment(number), segment.isInMemory else { return nil }
            return encrypted(segment.isGap ? CMAFFragment.gap : segment.bytes, of: segment, in: name)
        case .part(let number, let part):
            let open = rendition.open.flatMap { $0.number == number ? $0 : nil }
            guard let segment = open ?? rendition.completeSegment(number), segment.isInMemory,
                segment.parts.indices.contains(part)
            else { return nil }
            let bytes = segment.parts[part].isGap ? CMAFFragment.gap : segment.parts[part].bytes
            return encrypted(bytes, of: segment, in: name)
        }
    }

    /// Returns a file as it is delivered. A part is encrypted by itself, with the initialization vector of its segment.
    private func encrypted(_ bytes: [UInt8], of segment: PackagedSegment, in name: String) -> [UInt8]? {
        guard let number = segment.key else { return bytes }
        guard let encryption = configuration.encryption, let key = index(name).flatMap({ renditions[$0].keys[number] })
        else { return nil }
        // The vector follows from the number of the segment, because the playlist states none.
        let vector = EncryptionKey(uri: "").initializationVector(forSegment: segment.number)
        return encryption.encrypt(bytes, key, vector)
    }

    private func index(_ name: String) -> Int? { renditions.firstIndex { $0.description.name == name } }

    private func rendition(named name: String) -> (any ListedRendition)? {
        if let index = index(name) { return renditions[index] }
        guard let captions, captions.name == name else { return nil }
        return captions
    }
}

// MARK: - Playlists

extension StreamPackager {
    /// Returns the media playlist of a rendition; nil before its first part or segment, before the target duration is
    /// fixed, and for an unknown rendition.
    package func mediaPlaylist(of name: String) -> MediaPlaylist? {
        guard let rendition = rendition(named: name), let target = clock.targetDuration,
            let holdBack = clock.partHoldBack
        else { return nil }
        guard let partTarget = rendition.partTarget, let position = rendition.position else { return nil }
        let names = fileNames(of: rendition)
        let listed = segments(of: rendition, names, partsWithin: target * 3)
        let first = listed.segments.first ?? listed.open
        let last = listed.open ?? listed.segments.last
        var ranges: [DateRange] = []
        if !rendition.isText, let begin = first?.programDateTime, let last, let start = last.programDateTime {
            ranges = dateRanges.listed(from: begin, to: start + last.duration)
        }
        return MediaPlaylist(
            version: 9, targetDuration: target, partTargetDuration: partTarget,
            mediaSequence: first?.number ?? rendition.nextNumber,
            discontinuitySequence: first.map { $0.discontinuity - ($0.isDiscontinuity ? 1 : 0) } ?? 0,
            isComplete: isFinished, hasIndependentSegments: true,
            serverControl: ServerControl(
                canSkipUntil: target * 6, holdBack: target * 3, partHoldBack: holdBack, canBlockReload: true),
            segments: listed.segments, openSegment: listed.open,
            preloadHints: isFinished ? [] : [PreloadHint(.part, uri: names.part(position.segment, position.part))],
            renditionReports: isFinished ? [] : reports(without: name), dateRanges: ranges)
    }

    /// Returns the number of segments in the media playlist of a rendition; nil if there is no playlist.
    package func segmentCount(of name: String) -> Int? {
        guard let rendition = rendition(named: name), clock.targetDuration != nil, clock.partHoldBack != nil,
            rendition.partTarget != nil, rendition.position != nil
        else { return nil }
        return rendition.segments.count
    }

    /// Returns the segments of a rendition as the playlist lists them. Parts far from the end are left out.
    private func segments(
        of rendition: any ListedRendition, _ names: FileNames, partsWithin range: TimeSpan
    ) -> (segments: [MediaSegment], open: MediaSegment?) {
        var distance = TimeSpan.zero
        var result: [MediaSegment] = []
        // An absence of media is listed when its segment is complete, and without parts: hls.js 1.6 requests a part that is
        // a gap again and again.
        let open = rendition.open.flatMap { $0.isGap || isFinished ? nil : $0 }
        distance += open?.duration ?? .zero
        for segment in rendition.segments.reversed() {
            let hasParts = distance < range && !isFinished && !segment.isGap
            result.append(entry(segment, names, isOpen: false, hasParts: hasParts))
            distance += segment.duration
        }
        return (result.reversed(), open.map { entry($0, names, isOpen: true, hasParts: true) })
    }

    private func entry(_ segment: PackagedSegment, _ names: FileNames, isOpen: Bool, hasParts: Bool) -> MediaSegment {
        let parts = (hasParts ? segment.parts : []).enumerated().map { index, part in
            PartialSegment(
                uri: names.part(segment.number, index), duration: part.duration, isIndependent: part.isIndependent,
                isGap: part.isGap)
        }
        return MediaSegment(
            number: segment.number, uri: isOpen ? nil : names.segment(segment.number), duration: segment.duration,
            discontinuity: segment.discontinuity, isDiscontinuity: segment.isDiscontinuity,
            keys: segment.key.map { [EncryptionKey(uri: names.key($0))] } ?? [],
            initialization: segment.initialization.map { MediaInitialization(uri: names.initialization($0)) },
            programDateTime: segment.wallTime, isGap: segment.isGap, parts: hasParts ? parts : [])
    }

    /// Returns the last segments and parts of the other renditions.
    private func reports(without name: String) -> [RenditionReport] {
        allRenditions.compactMap { rendition in
            guard rendition.name != name, let last = rendition.lastPart else { return nil }
            return RenditionReport(
                uri: fileNames(of: rendition).playlist, lastSegment: last.segment, lastPart: Int64(last.part))
        }
    }

    private func fileNames(of rendition: any ListedRendition) -> FileNames {
        FileNames(instance: configuration.instance, rendition: rendition.name, isText: rendition.isText)
    }

    /// The multivariant playlist; nil until each rendition that has begun has its format and a media playlist.
    ///
    /// Each layer of the video is a variant with each audio codec, and the audio alone is the last variant (Apple's
    /// authoring specification, rules 2.3 and 9.1 to 9.15).
    package var multivariantPlaylist: MultivariantPlaylist? {
        let ready = renditions.filter { mediaPlaylist(of: $0.description.name) != nil && $0.format != nil }
        guard !ready.isEmpty else { return nil }
        let audio = ready.filter { !$0.description.isVideo }
        let video = ready.filter(\.description.isVideo).sorted { $0.bandwidth > $1.bandwidth }
        let groups = Self.groups(of: audio)
        let captions = mediaPlaylist(of: Self.captionsName) == nil ? nil : Self.captionsName
        var variants: [VariantStream] = []
        for layer in video {
            if groups.isEmpty { variants.append(Self.variant(layer, nil, captions)) }
            for group in groups { variants.append(Self.variant(layer, group, captions)) }
        }
        for group in groups { variants.append(Self.variant(nil, group, captions)) }
        var alternatives = groups.flatMap(\.alternatives)
        if let captions {
            alternatives.append(
                Rendition(.subtitles, uri: "\(captions).m3u8", group: captions, name: "Captions", isAutoselect: true))
        }
        return MultivariantPlaylist(
            version: 9, hasIndependentSegments: true, variants: variants.filter { !$0.uri.isEmpty },
            renditions: alternatives)
    }

    /// The audio renditions of one codec, among which the user chooses.
    private struct AudioGroup {
        let id: String
        var renditions: [RenditionPackager]
        var codec: String { renditions.first?.format?.codecString ?? "" }
        var bandwidth: Int64 { renditions.map(\.bandwidth).max() ?? 0 }
        var averageBandwidth: Int64 { renditions.map(\.averageBandwidth).max() ?? 0 }

        /// The members. The first one is the default. Of those that a player cannot distinguish, it selects only the first
        /// one by itself.
        var alternatives: [PCastHLS.Rendition] {
            var alternatives: [PCastHLS.Rendition] = []
            for rendition in renditions {
                let description = rendition.description
                var alternative = PCastHLS.Rendition(
                    .audio, uri: "\(description.name).m3u8", group: id, name: description.label ?? description.name,
                    language: description.language, isDefault: alternatives.isEmpty,
                    channels: rendition.format?.channels.map { String($0) })
                if description.describesVideo {
                    alternative.characteristics = ["public.accessibility.describes-video"]
                }
                alternative.isAutoselect = !alternatives.contains {
                    $0.language == alternative.language && $0.characteristics == alternative.characteristics
                }
                alternatives.append(alternative)
            }
            return alternatives
        }
    }

    private static func groups(of audio: [RenditionPackager]) -> [AudioGroup] {
        var groups: [AudioGroup] = []
        for rendition in audio {
            let id = rendition.format?.codecString == "opus" ? "opus" : "aac"
            if let index = groups.firstIndex(where: { $0.id == id }) {
                groups[index].renditions.append(rendition)
            } else {
                groups.append(AudioGroup(id: id, renditions: [rendition]))
            }
        }
        return groups
    }

    private static func variant(
        _ video: RenditionPackager?, _ audio: AudioGroup?, _ captions: String?
    ) -> VariantStream {
        let leader = video ?? audio?.renditions.first
        return VariantStream(
            uri: leader.map { "\($0.description.name).m3u8" } ?? "",
            bandwidth: Bitrate(bitsPerSecond: (video?.bandwidth ?? 0) + (audio?.bandwidth ?? 0)),
            averageBandwidth: Bitrate(bitsPerSecond: (video?.averageBandwidth ?? 0) + (audio?.averageBandwidth ?? 0)),
            codecs: [video?.format?.codecString, audio?.codec].compactMap { $0 },
            resolution: video?.format?.dimensions,
            framesPerSecond: video?.frameRate, audio: audio?.id, subtitles: captions)
    }
}

/// The content of a media playlist: a rendition with a track, or the captions.
protocol ListedRendition {
    var name: String { get }
    /// The complete segments in the playlist.
    var segments: [PackagedSegment] { get }
    /// Segments that left the playlist and may still be requested.
    var retired: [PackagedSegment] { get }
    /// The segment to which parts are added; nil before the first and between two.
    var open: PackagedSegment? { get }
    /// The media sequence number of the next segment.
    var nextNumber: Int64 { get }
    /// The target duration of parts; nil until it is fixed.
    var partTarget: TimeSpan? { get }
    /// Whether the segments are WebVTT.
    var isText: Bool { get }
}

extension ListedRendition {
    /// Returns the open segment or a complete one by its number; nil if it is not held.
    func segment(_ number: Int64) -> PackagedSegment? { open?.number == number ? open : completeSegment(number) }

    /// Returns the complete segment with a number, also if it left the playlist; nil if it is not held.
    func completeSegment(_ number: Int64) -> PackagedSegment? {
        // The numbers are consecutive, and a window has thousands of segments.
        if let first = segments.first?.number, number >= first, number - first < segments.count {
            let segment = segments[Int(number - first)]
            if segment.number == number { return segment }
        }
        return retired.first { $0.number == number } ?? segments.first { $0.number == number }
    }

    /// The segment and index of the next part; nil before the first part.
    var position: (segment: Int64, part: Int)? {
        if let open { return open.parts.isEmpty && segments.isEmpty ? nil : (open.number, open.listedPartCount) }
        return segments.isEmpty ? nil : (nextNumber, 0)
    }

    /// The segment and index of the last part; nil before the first part. A segment without media has no part.
    var lastPart: (segment: Int64, part: Int)? {
        if let open, !open.isGap { return (open.number, open.parts.count - 1) }
        return segments.last.map { ($0.number, max(0, $0.listedPartCount - 1)) }
    }
}

extension RenditionPackager: ListedRendition {
    var name: String { description.name }
    var isText: Bool { false }

    /// The peak bit rate: the measured one, or the expected one if it is higher. Before the first segment is complete,
    /// its parts so far are measured.
    var bandwidth: Int64 { max(description.bitrate.bitsPerSecond, peakBitrate > 0 ? peakBitrate : openBitrate, 1) }

    /// The bit rate of the parts of the open segment; 0 if there are none.
    private var openBitrate: Int64 {
        guard let open, open.duration > .zero else { return 0 }
        return Int64(Double(open.size * 8) / open.duration.seconds)
    }

    /// The average bit rate of the segments in the playlist; the expected one before the first.
    var averageBandwidth: Int64 {
        let duration = segments.reduce(TimeSpan.zero) { $0 + $1.duration }.seconds
        return duration > 0 ? max(1, Int64(Double(windowSize * 8) / duration)) : description.bitrate.bitsPerSecond
    }
}

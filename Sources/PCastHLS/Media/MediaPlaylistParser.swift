internal import PCastCore

/// Parses a media playlist line by line.
struct MediaPlaylistParser {
    /// The properties of the next segment that the tags since the last one have set.
    private struct Pending {
        var duration: TimeSpan?
        var title: String?
        var byteRange: ByteRange.UnresolvedRange?
        var isDiscontinuity = false
        var programDateTime: WallTime?
        var isGap = false
        var parts: [PartialSegment] = []
    }

    private var playlist = MediaPlaylist(targetDuration: .zero)
    private var hasTargetDuration = false
    private var variables: PlaylistVariables
    /// The playlist to which a delta update is applied; nil if there is none.
    private let earlier: MediaPlaylist?
    /// The number of the line that is being read, from 1, for error messages.
    private var line = 0

    private var pending = Pending()
    /// The keys that apply to the next segment, at most one of each key format.
    private var keys: [EncryptionKey] = []
    private var initialization: MediaInitialization?
    /// The last `EXT-X-BITRATE`, which applies to the next segments without a byte range.
    private var kilobitsPerSecond: Int64?
    /// The discontinuities so far, not counting those before the first segment (`EXT-X-DISCONTINUITY-SEQUENCE`).
    private var discontinuities: Int64 = 0
    /// The last partial segment, at whose end a byte range without an offset begins.
    private var lastPart: PartialSegment?
    private var partCount = 0
    /// The sum of the durations of all segments so far.
    private var duration = TimeSpan.zero
    /// Whether the playlist is a delta update, i.e. has an `EXT-X-SKIP` tag.
    private var isUpdate = false
    /// The IDs of the date ranges that the delta update removes.
    private var removedDateRanges: Set<String> = []
    /// The index in `playlist.dateRanges` of each date range ID.
    private var dateRangeIndices: [String: Int] = [:]
    /// The client-defined attributes of each date range by name, parallel to `playlist.dateRanges`.
    private var dateRangeAttributes: [[String: AttributeValue]] = []
    /// The date ranges of the earlier playlist by ID; empty unless the update may skip date ranges.
    private var earlierDateRanges: [String: DateRange] = [:]

    init(from uri: String, importing imported: [PlaylistVariable], updating earlier: MediaPlaylist?) {
        variables = PlaylistVariables(uri: uri, importing: imported)
        self.earlier = earlier
    }

    /// Parses a whole playlist.
    ///
    /// - Parameter text: The playlist, or a delta update of the earlier one.
    /// - Returns: The playlist, including the segments that a delta update skips.
    /// - Throws: ``PlaylistError`` for the first line that cannot be read.
    mutating func parse(_ text: String) throws(PlaylistError) -> MediaPlaylist {
        var lines = try PlaylistLines(text)
        while let next = try lines.next() {
            line = lines.number
            switch next {
            case .uri(let uri): try finishSegment(uri)
            case .tag(let tag, let value): try read(tag, value)
            }
        }
        guard hasTargetDuration else { throw .missingTag(PlaylistTag.targetDuration.rawValue) }
        finishOpenSegment()
        finishDateRanges()
        if isUpdate { mergeDateRanges() }
        playlist.variables = variables.definitions
        return playlist
    }

    /// Parses an attribute list and replaces the variables in it.
    private mutating func attributes(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) -> AttributeList {
        var list = try AttributeList(value, of: tag, line: line)
        try list.replaceVariables(in: &variables)
        return list
    }

    private func number(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) -> Int64 {
        guard let number = value.decimal() else { throw malformed(tag) }
        return number
    }

    private func malformed(_ tag: PlaylistTag) -> PlaylistError { .malformedTag(tag.rawValue, line: line) }

    /// Applies a tag that concerns the whole playlist, and passes on any other tag.
    private mutating func read(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) {
        switch tag {
        case .version:
            playlist.version = Int(try number(tag, value))
            guard playlist.version <= PlaylistLimits.version else { throw .unsupportedVersion(playlist.version) }
        case .independentSegments: playlist.hasIndependentSegments = true
        case .start: playlist.start = try StartPoint(try attributes(tag, value))
        case .define: try variables.define(try attributes(tag, value))
        case .targetDuration:
            // The value is an integer, but some servers write a fraction. Rounding up keeps it an upper bound.
            guard let target = value.seconds() else { throw malformed(tag) }
            playlist.targetDuration = min(
                TimeSpan(nanoseconds: (target.nanoseconds + 999_999_999) / 1_000_000_000 * 1_000_000_000),
                PlaylistLimits.segmentDuration)
            hasTargetDuration = true
        case .mediaSequence:
            guard playlist.segments.isEmpty else { throw malformed(tag) }
            playlist.mediaSequence = try number(tag, value)
        case .discontinuitySequence:
            // The tag may follow `EXT-X-SKIP`, whose segments are already numbered.
            guard playlist.segments.isEmpty || isUpdate else { throw malformed(tag) }
            playlist.discontinuitySequence = try number(tag, value)
            if isUpdate { countDiscontinuities() }
        case .endList: playlist.isComplete = true
        case .playlistType: playlist.kind = MediaPlaylist.Kind(rawValue: value.string)
        case .iFramesOnly: playlist.isIFramesOnly = true
        case .partInformation:
            let list = try attributes(tag, value)
            playlist.partTargetDuration = try list.required("PART-TARGET", list.seconds)
        case .serverControl: playlist.serverControl = try ServerControl(try attributes(tag, value))
        case .skip: try skip(try attributes(tag, value))
        case .preloadHint:
            if let hint = try PreloadHint(try attributes(tag, value)) { playlist.preloadHints.append(hint) }
            try PlaylistLimits.check(playlist.preloadHints.count, .hints, line: line)
        case .renditionReport:
            playlist.renditionReports.append(try RenditionReport(try attributes(tag, value)))
            try PlaylistLimits.check(playlist.renditionReports.count, .reports, line: line)
        case .dateRange: try addDateRange(value)
        default: try readOfSegment(tag, value)
        }
    }
}

extension MediaPlaylistParser {
    /// Applies a tag that concerns the next segment.
    private mutating func readOfSegment(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) {
        switch tag {
        case .segment:
            let (seconds, title) = value.divided(at: ",")
            guard let duration = seconds.trimmed.seconds() else { throw malformed(tag) }
            pending.duration = duration
            pending.title = title?.trimmed.string
            if pending.title?.isEmpty == true { pending.title = nil }
        case .byteRange:
            guard let range = ByteRange.UnresolvedRange(value) else { throw malformed(tag) }
            pending.byteRange = range
        case .discontinuity:
            if !pending.isDiscontinuity { discontinuities += 1 }
            pending.isDiscontinuity = true
        case .key: try changeKey(try attributes(tag, value))
        case .map:
            let list = try attributes(tag, value)
            initialization = MediaInitialization(
                uri: try list.required("URI"), byteRange: try list.byteRange("BYTERANGE", after: 0), keys: keys)
        // Playback does not depend on the time, so a malformed one is ignored.
        case .programDateTime: pending.programDateTime = WallTime(iso8601: value)
        case .gap: pending.isGap = true
        case .bitrate: kilobitsPerSecond = try number(tag, value)
        case .part:
            let part = try PartialSegment(try attributes(tag, value), after: lastPart)
            pending.parts.append(part)
            lastPart = part
            partCount += 1
            try PlaylistLimits.check(partCount, .parts, line: line)
        default: throw .mixedKinds(line: line)
        }
    }

    /// Adds a key, which replaces the earlier key of the same format (RFC 8216, section 4.3.2.4).
    private mutating func changeKey(_ list: AttributeList) throws(PlaylistError) {
        guard let key = try EncryptionKey(list) else {
            keys = []
            return
        }
        keys.removeAll { $0.keyFormat == key.keyFormat }
        keys.append(key)
        keys.sort { $0.keyFormat < $1.keyFormat }
        try PlaylistLimits.check(keys.count, .keys, line: line)
    }

    /// Adds the segment that the URI line completes.
    private mutating func finishSegment(_ text: PlaylistText) throws(PlaylistError) {
        guard let duration = pending.duration else { throw .segmentWithoutDuration(line: line) }
        let uri = try variables.uri(text, line: line)
        var byteRange: ByteRange?
        if let written = pending.byteRange {
            let last = playlist.segments.last
            guard let range = written.range(after: last?.uri == uri ? last?.byteRange?.end : nil) else {
                throw .byteRangeWithoutStart(line: line)
            }
            byteRange = range
        }
        self.duration += duration
        guard self.duration <= PlaylistLimits.duration else { throw .tooLong }
        playlist.segments.append(segment(uri: uri, duration: duration, byteRange: byteRange))
        try PlaylistLimits.check(playlist.segments.count, .segments, line: line)
        pending = Pending()
    }

    /// Returns a segment with the properties that were collected for it; `uri` is nil for the open segment.
    private func segment(uri: String?, duration: TimeSpan, byteRange: ByteRange?) -> MediaSegment {
        MediaSegment(
            number: playlist.nextNumber, uri: uri, duration: duration,
            discontinuity: playlist.discontinuitySequence + discontinuities,
            isDiscontinuity: pending.isDiscontinuity, title: uri == nil ? nil : pending.title, byteRange: byteRange,
            keys: keys, initialization: initialization, programDateTime: pending.programDateTime,
            isGap: pending.isGap,
            // EXT-X-BITRATE does not apply to segments with a byte range (RFC 8216bis, section 4.4.4.8).
            kilobitsPerSecond: byteRange == nil ? kilobitsPerSecond : nil, parts: pending.parts)
    }

    /// Keeps the tags at the end of the playlist as the open segment, if they describe one.
    private mutating func finishOpenSegment() {
        let last = playlist.segments.last
        guard
            !pending.parts.isEmpty || pending.isDiscontinuity || pending.programDateTime != nil || pending.isGap
                || keys != last?.keys ?? [] || initialization != last?.initialization
        else { return }
        let duration = pending.parts.reduce(TimeSpan.zero) { $0 + $1.duration }
        playlist.openSegment = segment(
            uri: nil, duration: min(duration, PlaylistLimits.segmentDuration), byteRange: nil)
    }
}

extension MediaPlaylistParser {
    /// Copies the skipped segments from the earlier playlist (RFC 8216bis, section 6.2.5.1). It also copies the state
    /// for the segments after them: keys, initialization, bit rate, discontinuities and the end of the last byte range.
    private mutating func skip(_ list: AttributeList) throws(PlaylistError) {
        let count = try list.required("SKIPPED-SEGMENTS", list.integer)
        guard playlist.segments.isEmpty, !isUpdate, pending.duration == nil, pending.parts.isEmpty else {
            throw malformed(.skip)
        }
        let first = playlist.mediaSequence
        guard let earlier, first >= earlier.mediaSequence, count <= Int64(earlier.segments.count),
            first + count <= earlier.nextNumber
        else { throw .skippedSegmentsUnknown(first: first, count: Int(min(count, Int64(Int32.max)))) }
        isUpdate = true
        removedDateRanges = Set(list.list("RECENTLY-REMOVED-DATERANGES", separator: "\t"))
        if earlier.serverControl.canSkipDateRanges {
            earlierDateRanges = Dictionary(earlier.dateRanges.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        }
        let begin = Int(first - earlier.mediaSequence)
        for var segment in earlier.segments[begin..<begin + Int(count)] {
            // Segments that are old enough to be skipped no longer have partial segments.
            segment.parts = []
            duration += segment.duration
            playlist.segments.append(segment)
        }
        guard let last = playlist.segments.last else { return }
        keys = last.keys
        initialization = last.initialization
        kilobitsPerSecond =
            earlier.segments[..<(begin + Int(count))].last { $0.kilobitsPerSecond != nil }?.kilobitsPerSecond
        countDiscontinuities()
    }

    /// Sets the count of discontinuities to that at the last segment.
    private mutating func countDiscontinuities() {
        guard let last = playlist.segments.last else { return }
        discontinuities = last.discontinuity - playlist.discontinuitySequence
    }
}

extension MediaPlaylistParser {
    /// Adds a date range, or merges a tag with the earlier range of the same ID. A malformed tag is ignored.
    private mutating func addDateRange(_ value: PlaylistText) throws(PlaylistError) {
        guard let list = try? attributes(.dateRange, value), let id = list.string("ID") else { return }
        if let index = dateRangeIndices[id] {
            guard let range = DateRange(list, addingTo: playlist.dateRanges[index]) else { return }
            playlist.dateRanges[index] = range
            addAttributes(of: list, to: index)
            return
        }
        // An update may add to a range whose first tag it skips.
        guard var range = DateRange(list, addingTo: earlierDateRanges[id]) else { return }
        let index = playlist.dateRanges.count
        dateRangeIndices[id] = index
        dateRangeAttributes.append(
            Dictionary(range.attributes.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }))
        range.attributes = []
        playlist.dateRanges.append(range)
        addAttributes(of: list, to: index)
        try PlaylistLimits.check(playlist.dateRanges.count, .dateRanges, line: line)
    }

    /// Collects the client-defined attributes of a tag for the date range at an index.
    private mutating func addAttributes(of list: AttributeList, to index: Int) {
        for (name, value) in list.values where DateRange.isOfAuthor(name) {
            let isKnown = dateRangeAttributes[index][name] != nil
            guard isKnown || dateRangeAttributes[index].count < PlaylistLimits.dateRangeAttributes else { continue }
            dateRangeAttributes[index][name] = value
        }
    }

    /// Stores the collected client-defined attributes in their date ranges, sorted by name.
    private mutating func finishDateRanges() {
        for (index, attributes) in dateRangeAttributes.enumerated() {
            playlist.dateRanges[index].attributes =
                attributes.map { DateRange.Attribute($0.key, $0.value) }.sorted { $0.name < $1.name }
        }
    }

    /// Keeps the date ranges of the earlier playlist if the update may skip them, except for those that it removes.
    private mutating func mergeDateRanges() {
        guard let earlier, earlier.serverControl.canSkipDateRanges else { return }
        let kept = earlier.dateRanges.filter { dateRangeIndices[$0.id] == nil && !removedDateRanges.contains($0.id) }
        var size = 0
        let ranges = (kept + playlist.dateRanges).suffix(PlaylistLimits.Counted.dateRanges.maximum)
        let newest = ranges.reversed().prefix { range in
            size += range.size
            return size <= PlaylistLimits.dateRangesSize
        }
        playlist.dateRanges = newest.reversed()
    }
}

internal import PCastMedia

/// Reads the lines of a media playlist one after another.
struct MediaPlaylistParser {
    /// What the tags since the last segment say of the next.
    private struct Pending {
        var duration: TimeSpan?
        var title: String?
        var byteRange: ByteRange.Written?
        var isDiscontinuity = false
        var programDateTime: WallTime?
        var isGap = false
        var parts: [PartialSegment] = []
    }

    private var playlist = MediaPlaylist(targetDuration: .zero)
    private var hasTargetDuration = false
    private var variables: PlaylistVariables
    private let earlier: MediaPlaylist?
    private var line = 0

    private var pending = Pending()
    private var keys: [EncryptionKey] = []
    private var initialization: MediaInitialization?
    private var kilobitsPerSecond: Int64?
    /// Discontinuities so far, beyond those that the playlist's header counts.
    private var discontinuities: Int64 = 0
    private var lastPart: PartialSegment?
    private var partCount = 0
    private var duration = TimeSpan.zero
    private var isUpdate = false
    private var removedDateRanges: Set<String> = []
    private var dateRangeIndices: [String: Int] = [:]
    /// The author's attributes of each range, by their names.
    private var dateRangeAttributes: [[String: AttributeValue]] = []
    /// By their ids, of an update that may skip them.
    private var earlierDateRanges: [String: DateRange] = [:]

    init(from uri: String, importing imported: [PlaylistVariable], updating earlier: MediaPlaylist?) {
        variables = PlaylistVariables(uri: uri, importing: imported)
        self.earlier = earlier
    }

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

    private mutating func read(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) {
        switch tag {
        case .version:
            playlist.version = Int(try number(tag, value))
            guard playlist.version <= PlaylistLimits.version else { throw .unsupportedVersion(playlist.version) }
        case .independentSegments: playlist.hasIndependentSegments = true
        case .start: playlist.start = try StartPoint(try attributes(tag, value))
        case .define: try variables.define(try attributes(tag, value))
        case .targetDuration:
            // Some servers write a fraction. It is a whole number, and the longest there is.
            guard let target = value.seconds() else { throw malformed(tag) }
            playlist.targetDuration = min(
                TimeSpan(nanoseconds: (target.nanoseconds + 999_999_999) / 1_000_000_000 * 1_000_000_000),
                PlaylistLimits.segmentDuration)
            hasTargetDuration = true
        case .mediaSequence:
            guard playlist.segments.isEmpty else { throw malformed(tag) }
            playlist.mediaSequence = try number(tag, value)
        case .discontinuitySequence:
            // It may stand behind a skip, whose segments are numbered already.
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
    private mutating func readOfSegment(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) {
        switch tag {
        case .segment:
            let (seconds, title) = value.divided(at: ",")
            guard let duration = seconds.trimmed.seconds() else { throw malformed(tag) }
            pending.duration = duration
            pending.title = title?.trimmed.string
            if pending.title?.isEmpty == true { pending.title = nil }
        case .byteRange:
            guard let range = ByteRange.Written(value) else { throw malformed(tag) }
            pending.byteRange = range
        case .discontinuity:
            if !pending.isDiscontinuity { discontinuities += 1 }
            pending.isDiscontinuity = true
        case .key: try changeKey(try attributes(tag, value))
        case .map:
            let list = try attributes(tag, value)
            initialization = MediaInitialization(
                uri: try list.required("URI"), byteRange: try list.byteRange("BYTERANGE", after: 0), keys: keys)
        // A time that cannot be read is none: the picture does not depend on it.
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

    /// A key stands for those before it of its own format (RFC 8216, section 4.3.2.4).
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

    private func segment(uri: String?, duration: TimeSpan, byteRange: ByteRange?) -> MediaSegment {
        MediaSegment(
            number: playlist.nextNumber, uri: uri, duration: duration,
            discontinuity: playlist.discontinuitySequence + discontinuities,
            isDiscontinuity: pending.isDiscontinuity, title: uri == nil ? nil : pending.title, byteRange: byteRange,
            keys: keys, initialization: initialization, programDateTime: pending.programDateTime,
            isGap: pending.isGap,
            // The rate of what has a length is known (RFC 8216bis, section 4.4.4.8).
            kilobitsPerSecond: byteRange == nil ? kilobitsPerSecond : nil, parts: pending.parts)
    }

    /// Keeps what was said of a segment that is not there yet.
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
    /// Takes what is skipped from the earlier playlist, with all that holds for what follows: keys, initialization,
    /// bitrate, the discontinuities so far, the end of a byte range (RFC 8216bis, section 6.2.5.1).
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
            // Whatever is old enough to be skipped has lost its parts.
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

    private mutating func countDiscontinuities() {
        guard let last = playlist.segments.last else { return }
        discontinuities = last.discontinuity - playlist.discontinuitySequence
    }
}

extension MediaPlaylistParser {
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

    private mutating func addAttributes(of list: AttributeList, to index: Int) {
        for (name, value) in list.values where DateRange.isOfAuthor(name) {
            let isKnown = dateRangeAttributes[index][name] != nil
            guard isKnown || dateRangeAttributes[index].count < PlaylistLimits.dateRangeAttributes else { continue }
            dateRangeAttributes[index][name] = value
        }
    }

    private mutating func finishDateRanges() {
        for (index, attributes) in dateRangeAttributes.enumerated() {
            playlist.dateRanges[index].attributes =
                attributes.map { DateRange.Attribute($0.key, $0.value) }.sorted { $0.name < $1.name }
        }
    }

    /// Where date ranges may be skipped too, those of before stay, but for those that were removed.
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

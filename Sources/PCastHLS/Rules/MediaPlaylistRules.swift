package import PCastCore

/// Checks media playlists against the rules for servers.
package enum MediaPlaylistRules {
    /// The share of the target duration of parts that a part has at least.
    private static let minimumPart = 0.85

    /// Checks a media playlist as text, of which some properties are lost when it is parsed.
    ///
    /// - Parameter text: The whole playlist, not a delta update.
    /// - Returns: The violations; that of the parser as ``PlaylistRule/segmentWithoutDuration`` if it is malformed.
    package static func check(text: String) -> [RuleViolation] {
        let playlist: MediaPlaylist
        do { playlist = try MediaPlaylist(text) } catch {
            return [RuleViolation(.segmentWithoutDuration, "the playlist cannot be parsed: \(error)")]
        }
        var violations = check(playlist)
        func has(_ tag: PlaylistTag) -> Bool { text.contains("#\(tag.rawValue):") }
        if playlist.isLive, playlist.mediaSequence > 0, !has(.mediaSequence) {
            violations.append(RuleViolation(.mediaSequenceMissing, "segments were removed"))
        }
        // An event keeps all of its segments.
        let mayRemove = playlist.isLive && playlist.kind == nil
        if mayRemove, playlist.segments.contains(where: \.isDiscontinuity), !has(.discontinuitySequence) {
            violations.append(RuleViolation(.discontinuitySequenceMissing, "the playlist has a discontinuity"))
        }
        return violations + checkTags(text)
    }

    /// Checks a media playlist.
    package static func check(_ playlist: MediaPlaylist) -> [RuleViolation] {
        checkSegments(playlist) + checkParts(playlist) + checkServerControl(playlist) + checkHeader(playlist)
            + checkDateRanges(playlist)
    }

    /// Checks a playlist against an earlier version of it.
    ///
    /// - Parameters:
    ///   - new: The later version.
    ///   - old: The earlier version.
    ///   - elapsed: The time between the two versions if `new` is the first change since `old`; nil if unknown.
    /// - Returns: The violations.
    package static func check(
        _ new: MediaPlaylist, after old: MediaPlaylist, elapsed: TimeSpan? = nil
    ) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ detail: String) { violations.append(RuleViolation(rule, detail)) }
        if new.targetDuration != old.targetDuration {
            add(.targetChanged, "the target duration changed from \(old.targetDuration) to \(new.targetDuration)")
        }
        if let before = old.partTargetDuration, let after = new.partTargetDuration, before != after {
            add(.targetChanged, "the target duration of parts changed from \(before) to \(after)")
        }
        if new.mediaSequence < old.mediaSequence || new.discontinuitySequence < old.discontinuitySequence {
            add(.sequenceDecreased, "the sequence decreased from \(old.mediaSequence) to \(new.mediaSequence)")
        }
        for segment in old.segments {
            guard let later = new.segment(segment.number) else { continue }
            if !Self.isSame(segment, later) { add(.segmentChanged, "segment \(segment.number) changed") }
        }
        if let open = old.openSegment, let later = new.segment(open.number) ?? new.openSegment,
            later.number == open.number, !later.parts.isEmpty, !later.parts.starts(with: open.parts)
        {
            add(.segmentChanged, "the parts of segment \(open.number) changed")
        }
        let duration = new.segments.reduce(TimeSpan.zero) { $0 + $1.duration }
        if new.isLive, new.mediaSequence > old.mediaSequence, duration < new.targetDuration * 3 {
            add(.segmentRemovedTooEarly, "\(duration) of segments remain")
        }
        for range in new.dateRanges {
            guard let earlier = old.dateRanges.first(where: { $0.id == range.id }) else { continue }
            for (name, value) in earlier.tagAttributes where range.tagAttributes[name] ?? value != value {
                add(.dateRangeChanged, "\(name) of the date range \(range.id) changed")
            }
        }
        if old.isComplete, !new.isComplete { add(.endRemoved, "the playlist had ended") }
        if let elapsed, !old.isComplete, new.nextNumber > old.nextNumber,
            elapsed.nanoseconds > new.targetDuration.nanoseconds * 3 / 2
        {
            add(.updateTooLate, "the playlist had no new segment for \(elapsed)")
        }
        return violations
    }

    /// Returns whether two versions of a segment are the same except for parts that were removed.
    private static func isSame(_ old: MediaSegment, _ new: MediaSegment) -> Bool {
        var (old, new) = (old, new)
        guard new.parts.isEmpty || new.parts == old.parts else { return false }
        old.parts = []
        new.parts = []
        return old == new
    }

    private static func checkSegments(_ playlist: MediaPlaylist) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ segment: MediaSegment, _ detail: String) {
            violations.append(RuleViolation(rule, "segment \(segment.number) \(detail)"))
        }
        var previous: MediaSegment?
        for segment in playlist.segments + (playlist.openSegment.map { [$0] } ?? []) {
            let rounded = (segment.duration.nanoseconds + 500_000_000) / 1_000_000_000
            if rounded * 1_000_000_000 > playlist.targetDuration.nanoseconds {
                add(.segmentExceedsTarget, segment, "has \(segment.duration), more than \(playlist.targetDuration)")
            }
            if segment.uri != nil, segment.duration <= .zero {
                add(.segmentWithoutDuration, segment, "has no duration")
            }
            if segment.initialization == nil, playlist.partTargetDuration != nil, !Self.isText(segment) {
                add(.initializationMissing, segment, "has no initialization section")
            }
            if let map = segment.initialization, previous?.initialization != map,
                map.keys.contains(where: { $0.method == .aes128 && $0.initializationVector == nil })
            {
                add(.keyOfInitializationWithoutVector, segment, "has an encrypted initialization section without IV")
            }
            if let previous {
                if !segment.isDiscontinuity, segment.initialization != previous.initialization {
                    add(.initializationWithoutDiscontinuity, segment, "has another initialization section")
                }
                if let time = segment.programDateTime, let before = previous.programDateTime,
                    time < before + previous.duration - .seconds(1 as Int64) || time <= before
                {
                    add(.programDateTimeAmbiguous, segment, "begins at \(time.iso8601), before the previous one ends")
                }
            }
            if segment.isDiscontinuity, segment.programDateTime == nil {
                add(.programDateTimeMissing, segment, "has a discontinuity and no date")
            }
            if playlist.hasIndependentSegments, let part = segment.parts.first, !part.isIndependent, !part.isGap {
                add(.segmentBeginsWithoutKeyFrame, segment, "begins with a part that is not independent")
            }
            previous = segment
        }
        if playlist.isLive, !playlist.segments.isEmpty, playlist.segments.allSatisfy({ $0.programDateTime == nil }) {
            violations.append(RuleViolation(.programDateTimeMissing, "no segment has a date"))
        }
        return violations
    }

    /// Returns whether a segment is WebVTT, which has no initialization section (RFC 8216bis, section 3.1.4).
    private static func isText(_ segment: MediaSegment) -> Bool {
        (segment.uri ?? segment.parts.first?.uri).map { uri in
            let path = uri.prefix { $0 != "?" && $0 != "#" }
            return path.hasSuffix(".vtt") || path.hasSuffix(".webvtt")
        } ?? false
    }

    private static func checkParts(_ playlist: MediaPlaylist) -> [RuleViolation] {
        guard let target = playlist.partTargetDuration else { return [] }
        var violations: [RuleViolation] = []
        let floor = Int64(Double(target.nanoseconds) * minimumPart)
        var distance = playlist.openSegment?.duration ?? .zero
        func check(_ segment: MediaSegment) {
            for (index, part) in segment.parts.enumerated() {
                let name = "part \(index) of segment \(segment.number)"
                if part.duration > target {
                    violations.append(
                        RuleViolation(.partExceedsTarget, "\(name) has \(part.duration), the target is \(target)"))
                }
                let next = index + 1 < segment.parts.count ? segment.parts[index + 1] : nil
                let isExempt = part.isIndependent || part.isGap || next == nil || next?.isGap == true
                if !isExempt, part.duration.nanoseconds < floor {
                    violations.append(
                        RuleViolation(.partTooShort, "\(name) has \(part.duration), the target is \(target)"))
                }
            }
            let sum = segment.parts.reduce(TimeSpan.zero) { $0 + $1.duration }
            // The durations of parts are rounded to nanoseconds.
            if segment.uri != nil, !segment.parts.isEmpty, (sum - segment.duration).magnitude > .milliseconds(1) {
                violations.append(
                    RuleViolation(
                        .partsDifferFromSegment, "segment \(segment.number) has \(segment.duration), not \(sum)"))
            }
        }
        if let open = playlist.openSegment { check(open) }
        for segment in playlist.segments.reversed() {
            check(segment)
            if playlist.isLive, !segment.parts.isEmpty, distance > playlist.targetDuration * 4 {
                violations.append(
                    RuleViolation(
                        .oldPartsListed, "segment \(segment.number) is \(distance) from the end and has parts"))
            }
            distance += segment.duration
        }
        return violations
    }

    private static func checkServerControl(_ playlist: MediaPlaylist) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ detail: String) { violations.append(RuleViolation(rule, detail)) }
        let control = playlist.serverControl
        if let target = playlist.partTargetDuration {
            if let holdBack = control.partHoldBack {
                if holdBack < target * 3 {
                    add(.partHoldBackTooShort, "PART-HOLD-BACK is \(holdBack), the target of parts is \(target)")
                }
            } else {
                add(.partHoldBackMissing, "the playlist has parts and no PART-HOLD-BACK")
            }
            if playlist.isLive, !control.canBlockReload {
                add(.partsWithoutBlockingReload, "the playlist has parts and no CAN-BLOCK-RELOAD")
            }
            if playlist.isLive, !playlist.preloadHints.contains(where: { $0.kind == .part }) {
                add(.preloadHintMissing, "the playlist has parts and no hint of the next one")
            }
        }
        if let holdBack = control.holdBack, holdBack < playlist.targetDuration * 3 {
            add(.holdBackTooShort, "HOLD-BACK is \(holdBack), the target is \(playlist.targetDuration)")
        }
        if let boundary = control.canSkipUntil, boundary < playlist.targetDuration * 6 {
            add(.skipBoundaryTooShort, "CAN-SKIP-UNTIL is \(boundary), the target is \(playlist.targetDuration)")
        }
        if Set(playlist.preloadHints.map(\.kind)).count < playlist.preloadHints.count {
            add(.preloadHintRepeated, "the playlist has \(playlist.preloadHints.count) hints")
        }
        return violations
    }

    private static func checkHeader(_ playlist: MediaPlaylist) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ detail: String) { violations.append(RuleViolation(rule, detail)) }
        if !playlist.hasIndependentSegments { add(.independentSegmentsMissing, "the tag is missing") }
        // Six segments are there as soon as one was removed.
        if playlist.isLive, playlist.mediaSequence > 0, playlist.segments.count < 6 {
            add(.fewSegments, "the playlist has \(playlist.segments.count) segments")
        }
        if !playlist.isComplete, playlist.kind == .onDemand {
            add(.playlistTypeOfLivePlaylist, "the type is VOD, and the playlist has no end")
        }
        let hasMap = playlist.segments.contains { $0.initialization != nil }
        let keys = playlist.segments.flatMap { $0.keys + ($0.initialization?.keys ?? []) }
        let hasFormat = keys.contains { $0.keyFormat != "identity" || $0.keyFormatVersions != nil }
        let needed = playlist.serverControl.canSkipUntil != nil ? 9 : hasMap ? 6 : hasFormat ? 5 : 3
        if playlist.version < needed { add(.versionTooLow, "the version is \(playlist.version), not \(needed)") }
        return violations
    }
}

// MARK: - Keys and date ranges

extension MediaPlaylistRules {
    /// Checks tags from which the parser removes something: it merges date ranges with the same ID, and ignores malformed
    /// ones and the attributes of keys without a method.
    private static func checkTags(_ text: String) -> [RuleViolation] {
        guard var lines = try? PlaylistLines(text) else { return [] }
        var violations: [RuleViolation] = []
        var known: [String: [String: AttributeValue]] = [:]
        while let line = try? lines.next() {
            guard case .tag(let tag, let value) = line, tag == .key || tag == .dateRange else { continue }
            let name = "the \(tag.rawValue) in line \(lines.number)"
            let list = try? AttributeList(value, of: tag, line: lines.number)
            if tag == .key {
                guard let list, list.word("METHOD") == "NONE", list.values.count > 1 else { continue }
                violations.append(RuleViolation(.keyMethodNoneWithAttributes, "\(name) has other attributes"))
                continue
            }
            guard let list, let id = list.string("ID"),
                DateRange(list, addingTo: known[id].map { _ in Self.anyRange }) != nil
            else {
                violations.append(RuleViolation(.dateRangeMalformed, "\(name) cannot be read"))
                continue
            }
            for (attribute, value) in list.values where known[id]?[attribute] ?? value != value {
                violations.append(RuleViolation(.dateRangeChanged, "\(name) has another \(attribute) than before"))
            }
            known[id, default: [:]].merge(list.values.map { ($0.name, $0.value) }) { first, _ in first }
        }
        return violations
    }

    /// A range that a tag may add to.
    private static let anyRange = DateRange(id: "any", start: WallTime(nanosecondsSinceEpoch: 0))

    private static func checkDateRanges(_ playlist: MediaPlaylist) -> [RuleViolation] {
        var violations: [RuleViolation] = []
        func add(_ rule: PlaylistRule, _ range: DateRange, _ detail: String) {
            violations.append(RuleViolation(rule, "the date range \(range.id) \(detail)"))
        }
        let hasDate = (playlist.segments + (playlist.openSegment.map { [$0] } ?? [])).contains {
            $0.programDateTime != nil
        }
        for range in playlist.dateRanges {
            if !hasDate { add(.dateRangeWithoutProgramDateTime, range, "is in a playlist without dates") }
            if let end = range.end, end < range.start { add(.dateRangeEndsBeforeStart, range, "ends before its start") }
            if let end = range.end, let duration = range.duration, end != PlaylistTimeline.sum(range.start, duration) {
                add(.dateRangeEndDiffersFromDuration, range, "has another end than its duration says")
            }
            guard range.endsOnNext else { continue }
            if range.classID == nil { add(.dateRangeEndOnNextWithoutClass, range, "has END-ON-NEXT and no CLASS") }
            if range.end != nil || range.duration != nil {
                add(.dateRangeEndOnNextWithEnd, range, "has END-ON-NEXT and an end")
            }
        }
        let exclusive = Set(playlist.dateRanges.filter(\.endsOnNext).compactMap(\.classID))
        for name in exclusive.sorted() {
            let ranges = playlist.dateRanges.filter { $0.classID == name }.sorted { $0.start < $1.start }
            for (range, next) in zip(ranges, ranges.dropFirst()) {
                guard let end = ranges.end(of: range), end > next.start else { continue }
                add(.dateRangesOverlap, range, "overlaps \(next.id), and the class has END-ON-NEXT")
            }
        }
        return violations
    }
}

extension DateRange {
    /// The attributes as their tag has them.
    fileprivate var tagAttributes: [String: AttributeValue] {
        let list = try? AttributeList(tag.text[...].utf8, of: .dateRange, line: 1)
        return Dictionary((list?.values ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

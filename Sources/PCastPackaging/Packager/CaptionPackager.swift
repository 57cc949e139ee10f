internal import PCastCore
internal import PCastHLS

/// Packages captions as a rendition of WebVTT segments (RFC 8216bis, section 3.1.4).
///
/// Its segments and parts are those of another rendition, the leader, so that captions are as late as the media, and not
/// later. Each part is a document, and so is each segment. A cue is in every part during which it is shown. A cue that
/// arrives after its part is in the next one, with its own times: players are behind and show it if it is not over.
struct CaptionPackager: ListedRendition {
    /// A cue, and the part that has it first.
    private struct Entry {
        let cue: CaptionCue
        /// The media time at which that part begins, in nanoseconds; nil before.
        var firstPart: Int64?
    }

    let name: String
    private(set) var segments: [PackagedSegment] = []
    private(set) var retired: [PackagedSegment] = []
    private(set) var open: PackagedSegment?
    private(set) var nextNumber: Int64 = 0
    private(set) var partTarget: TimeSpan?
    let isText = true

    /// The cues by their capture times.
    private var entries: [Entry] = []
    /// The name of the rendition that is followed; nil before the first.
    private var leaderName: String?
    /// The segment of the leader and its part that is followed next.
    private var next: (segment: Int64, part: Int) = (0, 0)
    /// The media time up to which the parts reach, in nanoseconds.
    private var end: Int64 = 0
    /// The discontinuity sequence number of the newest segment.
    private var discontinuity: Int64 = 0
    private var isFinished = false

    /// The maximum number of cues that are kept.
    static let cueLimit = 64
    /// The maximum number of cues in a document: those that begin last.
    static let documentLimit = 16
    /// The time for which a cue is kept after its end. Later, no player may show it.
    private static let retention = TimeSpan.seconds(30 as Int64)
    /// A rest of a part that is shorter is rounded away, in nanoseconds.
    private static let rounding: Int64 = 1_000_000

    init(name: String) { self.name = name }

    private var hasBegun: Bool { open != nil || !segments.isEmpty }

    /// The bytes of all documents.
    var heldSize: Int { (segments + retired).reduce(open?.size ?? 0) { $0 + $1.size } }

    /// Adds a cue. If there are too many, the earliest is removed. A cue that is known is not added again.
    mutating func add(_ cue: CaptionCue) {
        guard !isFinished, !entries.contains(where: { $0.cue == cue }) else { return }
        let index = entries.firstIndex { $0.cue.captureTime > cue.captureTime } ?? entries.endIndex
        entries.insert(Entry(cue: cue, firstPart: nil), at: index)
        if entries.count > Self.cueLimit { entries.removeFirst() }
    }

    // MARK: Following

    /// Adds the parts and segments that the leader has added.
    mutating func follow(_ renditions: [RenditionPackager], _ clock: inout PackagerClock) {
        guard !isFinished, let leader = leader(among: renditions) else { return }
        while let segment = leader.segment(next.segment) {
            let isComplete = leader.open?.number != segment.number
            guard next.part < segment.parts.count || isComplete else { return }
            let rate = leader.description.source.clockRate
            var time = rate.span(ofTicks: segment.start).nanoseconds
            for part in segment.parts.prefix(next.part) { time += part.duration.nanoseconds }
            for part in segment.parts.dropFirst(next.part) {
                let start = time
                time += part.duration.nanoseconds
                append(from: start, to: time, segment.discontinuity, &clock)
            }
            next.part = segment.parts.count
            guard isComplete else { return }
            closeSegment(&clock)
            next = (segment.number + 1, 0)
        }
    }

    /// Returns the rendition that is followed: the former one, or another one if that was removed; nil if none has begun.
    private mutating func leader(among renditions: [RenditionPackager]) -> RenditionPackager? {
        if let leaderName, let former = renditions.first(where: { $0.description.name == leaderName }) {
            // Segments that it no longer holds are left out.
            if let first = former.segments.first, first.number > next.segment { next = (first.number, 0) }
            return former
        }
        let begun = renditions.filter { $0.hasBegun && $0.partTarget != nil }
        guard let chosen = begun.first(where: \.description.isVideo) ?? begun.first else { return nil }
        leaderName = chosen.description.name
        next = (chosen.open?.number ?? chosen.nextNumber, 0)
        partTarget = partTarget ?? chosen.partTarget
        return chosen
    }

    /// Ends the rendition after its leader has ended.
    mutating func finish(_ clock: inout PackagerClock) {
        guard !isFinished else { return }
        closeSegment(&clock)
        isFinished = true
        clock.updates.changed.insert(name)
    }

    // MARK: Segments

    /// Adds parts up to a media time. `start` is the time at which the leader's part begins, and `number` its discontinuity
    /// sequence number.
    private mutating func append(
        from start: Int64, to time: Int64, _ number: Int64, _ clock: inout PackagerClock
    ) {
        guard let target = partTarget?.nanoseconds, target > 0 else { return }
        let isNew = !hasBegun
        if isNew { discontinuity = number }
        let isDiscontinuity = number > discontinuity
        if isDiscontinuity || isNew || start - end > clock.configuration.window.nanoseconds {
            closeSegment(&clock)
            end = max(end, start)
            // If there are several, each begins with a part.
            if isDiscontinuity { discontinuity += 1 }
        }
        let limit = clock.targetDuration ?? clock.configuration.maximumTargetDuration
        var beginsDiscontinuity = isDiscontinuity
        while end < time {
            let rest = time - end
            let duration = TimeSpan.nanoseconds(min(target, rest))
            if let open, open.duration + duration > limit { closeSegment(&clock) }
            if open == nil {
                open = PackagedSegment(
                    number: nextNumber, start: end, wallTime: clock.wallTime(at: end), initialization: nil,
                    discontinuity: discontinuity, isDiscontinuity: beginsDiscontinuity)
                nextNumber += 1
                beginsDiscontinuity = false
            }
            let next = rest - duration.nanoseconds < Self.rounding ? time : end + duration.nanoseconds
            let bytes = document(of: cues(ofPartFrom: end, to: next, &clock))
            open?.parts.append(PackagedPart(bytes: bytes, duration: duration, isIndependent: true))
            end = next
            clock.updates.changed.insert(name)
        }
    }

    private mutating func closeSegment(_ clock: inout PackagerClock) {
        guard var segment = open else { return }
        segment.document = document(of: cues(ofSegmentFrom: segment.start, to: end, &clock))
        open = nil
        segments.append(segment)
        clock.updates.changed.insert(name)
        trim(clock)
    }

    /// Removes the oldest segments beyond the window, and the cues that are over.
    private mutating func trim(_ clock: PackagerClock) {
        let target = clock.targetDuration ?? clock.configuration.maximumTargetDuration
        let window = max(clock.configuration.window, target * 6)
        var duration = segments.reduce(TimeSpan.zero) { $0 + $1.duration }
        while let first = segments.first, duration - first.duration >= window {
            duration = duration - first.duration
            retired.append(segments.removeFirst())
        }
        var kept = retired.reduce(TimeSpan.zero) { $0 + $1.duration }
        while let first = retired.first, kept - first.duration >= target * 3 {
            kept = kept - first.duration
            retired.removeFirst()
        }
        let oldest = clock.wallTime(at: end) - Self.retention
        entries.removeAll { $0.cue.end < oldest }
    }

    // MARK: Documents

    /// Returns the cues that are shown during a part, and those that arrived too late for an earlier part.
    private mutating func cues(
        ofPartFrom start: Int64, to end: Int64, _ clock: inout PackagerClock
    ) -> [WebVTTSegment.Cue] {
        var result: [WebVTTSegment.Cue] = []
        for index in entries.indices {
            guard let cue = converted(entries[index].cue, &clock), cue.start.nanoseconds < end else { continue }
            let isLate = entries[index].firstPart == nil
            guard isLate || cue.end.nanoseconds > start else { continue }
            entries[index].firstPart = entries[index].firstPart ?? start
            result.append(cue)
        }
        return result
    }

    /// Returns the cues that are shown during a segment, and those that its parts have because they arrived late.
    private func cues(
        ofSegmentFrom start: Int64, to end: Int64, _ clock: inout PackagerClock
    ) -> [WebVTTSegment.Cue] {
        entries.compactMap { entry in
            guard let cue = converted(entry.cue, &clock), cue.start.nanoseconds < end else { return nil }
            let isLate = entry.firstPart.map { $0 >= start && $0 < end } ?? false
            return isLate || cue.end.nanoseconds > start ? cue : nil
        }
    }

    /// Returns a cue in media times; nil if it begins before media time zero.
    private func converted(_ cue: CaptionCue, _ clock: inout PackagerClock) -> WebVTTSegment.Cue? {
        guard let start = clock.mediaTime(of: cue.captureTime), start >= 0 else { return nil }
        return WebVTTSegment.Cue(
            start: .nanoseconds(start), end: .nanoseconds(start) + TimeSpan(cue.duration), text: cue.text)
    }

    private func document(of cues: [WebVTTSegment.Cue]) -> [UInt8] {
        Array(WebVTTSegment(cues: Array(cues.suffix(Self.documentLimit))).text.utf8)
    }
}

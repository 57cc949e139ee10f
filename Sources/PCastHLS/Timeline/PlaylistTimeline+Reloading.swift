public import PCastCore

extension PlaylistTimeline {
    /// Updates the timeline to a reloaded playlist and returns the kind of change. A stale playlist is ignored.
    public mutating func update(to newer: MediaPlaylist) -> Change {
        guard let last = segments.last, let first = segments.first else {
            let change: Change = newer == playlist ? .unchanged : .advanced
            playlist = newer
            segments = Self.placed(newer, from: .zero, knowing: nil)
            return change
        }
        guard let newLast = Self.lastNumber(newer) else { return .stale }
        let newFirst = newer.mediaSequence
        if newFirst > last.number { return advanceWindow(to: newer) }
        if newLast < first.number { return restartFromVariant(to: newer) }
        if isAnother(newer) { return restart(with: newer) }
        guard Self.progress(newer) >= Self.progress(playlist) else { return .stale }
        let isUnchanged = newer == playlist
        // The oldest common segment keeps its position, and the others follow.
        let shared = max(first.number, newFirst)
        var origin = segments[Int(shared - first.number)].start
        for segment in newer.segments.prefix(Int(shared - newFirst)) { origin -= segment.duration }
        replace(with: newer, from: origin)
        return isUnchanged ? .unchanged : .advanced
    }

    /// Returns values that compare lower for an older playlist: next number, completeness, parts of the open segment.
    private static func progress(_ playlist: MediaPlaylist) -> (Int64, Int, Int) {
        (playlist.nextNumber, playlist.isComplete ? 1 : 0, playlist.openSegment?.parts.count ?? 0)
    }

    /// Returns the media sequence number of the last segment that has media, complete or not; nil if there is none.
    private static func lastNumber(_ playlist: MediaPlaylist) -> Int64? {
        if let open = playlist.openSegment, !open.parts.isEmpty { return open.number }
        return playlist.segments.isEmpty ? nil : playlist.nextNumber - 1
    }

    /// Updates to a playlist whose window begins after the end of the present one.
    private mutating func advanceWindow(to newer: MediaPlaylist) -> Change {
        let missing = newer.mediaSequence - segments[segments.count - 1].number - 1
        guard missing > 0 else {
            replace(with: newer, from: end)
            return .advanced
        }
        var origin = end
        if let position = position(fromWallTimeOf: newer) {
            origin = position
        } else {
            let average = (end - start).nanoseconds / Int64(segments.count)
            let (lost, overflows) = average.multipliedReportingOverflow(by: missing)
            guard !overflows, lost < Self.maximumMagnitude.nanoseconds else { return restart(with: newer) }
            origin += TimeSpan(nanoseconds: lost)
        }
        replace(with: newer, from: origin)
        return .gap(missing: missing)
    }

    /// Updates to a playlist whose window ends before the present one. The server has restarted, unless wall-clock
    /// times show that the playlist is old.
    private mutating func restartFromVariant(to newer: MediaPlaylist) -> Change {
        let placed = Self.placed(newer, from: .zero, knowing: nil)
        if let new = placed.last(where: { $0.wallTime != nil })?.wallTime,
            let old = segments.first(where: { $0.wallTime != nil })?.wallTime, new < old
        {
            return .stale
        }
        return restart(with: newer)
    }

    /// Begins a new epoch, whose positions follow those of the present one.
    private mutating func restart(with newer: MediaPlaylist) -> Change {
        epoch += 1
        let origin = position(fromWallTimeOf: newer) ?? end
        evicted = []
        let isFar = origin.magnitude > Self.maximumMagnitude
        playlist = newer
        segments = Self.placed(newer, from: isFar ? .zero : origin, knowing: nil)
        return .restarted
    }

    /// Returns the position at which a playlist without common segments begins according to wall-clock times; nil if
    /// they are unknown, not later, or more than a day apart.
    private func position(fromWallTimeOf newer: MediaPlaylist) -> TimeSpan? {
        guard let new = Self.placed(newer, from: .zero, knowing: nil).first(where: { $0.wallTime != nil }),
            let newTime = new.wallTime, let old = segments.last(where: { $0.wallTime != nil }),
            let oldTime = old.wallTime
        else { return nil }
        let (difference, overflows) = newTime.nanosecondsSinceEpoch.subtractingReportingOverflow(
            oldTime.nanosecondsSinceEpoch)
        guard !overflows, difference > 0, difference < 86_400_000_000_000 else { return nil }
        return max(end, old.start + TimeSpan(nanoseconds: difference) - new.start)
    }

    /// Returns whether equal media sequence numbers denote different segments, i.e. no common number denotes the same
    /// one.
    private func isAnother(_ newer: MediaPlaylist) -> Bool {
        var differs = false
        let first = max(newer.mediaSequence, playlist.mediaSequence)
        for number in first..<max(first, min(newer.nextNumber, playlist.nextNumber)) {
            guard let old = playlist.segment(number), let new = newer.segment(number) else { continue }
            if Self.isSame(old, new) { return false }
            differs = true
        }
        return differs
    }

    /// Returns whether two segments of the same number are the same. Hosts and queries do not count, because they may
    /// change with each reload to carry tokens. A different segment differs in its path and in its time or duration.
    private static func isSame(_ old: MediaSegment, _ new: MediaSegment) -> Bool {
        if old.uri == new.uri || path(old) == path(new) { return true }
        if let oldTime = old.programDateTime, let newTime = new.programDateTime { return oldTime == newTime }
        return old.duration == new.duration
    }

    private static func path(_ segment: MediaSegment) -> String? { segment.uri.map { URIReference($0).path } }

    /// Replaces the segments, and remembers those that leave the window.
    private mutating func replace(with newer: MediaPlaylist, from origin: TimeSpan) {
        guard origin.magnitude <= Self.maximumMagnitude else {
            _ = restart(with: newer)
            return
        }
        let known = segments
        evicted = Array((evicted + known.prefix { $0.number < newer.mediaSequence }).suffix(Self.evictedCount))
        playlist = newer
        segments = Self.placed(newer, from: origin, knowing: known)
    }

    /// Returns the segments of a playlist in consecutive positions, with their wall-clock times.
    ///
    /// The time of a segment comes from the playlist, else from the segment before, the known time, or the segment
    /// after. It is not derived across a discontinuity (RFC 8216, sections 4.3.2.6 and 6.3.3).
    ///
    /// - Parameters:
    ///   - playlist: The playlist.
    ///   - origin: The position of its first segment.
    ///   - known: The segments before the reload, whose measured durations are kept; nil if there are none.
    /// - Returns: The complete segments, and the open one if it has parts.
    static func placed(
        _ playlist: MediaPlaylist, from origin: TimeSpan, knowing known: [TimelineSegment]?
    ) -> [TimelineSegment] {
        var placed: [TimelineSegment] = []
        placed.reserveCapacity(playlist.segments.count + 1)
        // The loop uses indices to avoid copies: a segment is large, and a window may contain a day of them.
        for index in playlist.segments.indices {
            placed.append(
                append(
                    playlist.segments[index], behind: placed.last, from: origin, knowing: known,
                    unknownDuration: playlist.targetDuration))
        }
        if let open = playlist.openSegment, !open.parts.isEmpty {
            placed.append(
                append(open, behind: placed.last, from: origin, knowing: known, unknownDuration: .zero))
        }
        for index in placed.indices.dropLast().reversed()
        where placed[index].wallTime == nil && placed[index].discontinuity == placed[index + 1].discontinuity {
            placed[index].wallTime = placed[index + 1].wallTime.flatMap { sum($0, -placed[index].duration) }
        }
        return placed
    }

    private static let shortestDuration = TimeSpan.milliseconds(10)

    /// Returns the position of one segment after the last one.
    private static func append(
        _ segment: borrowing MediaSegment, behind last: TimelineSegment?, from origin: TimeSpan,
        knowing known: [TimelineSegment]?, unknownDuration: TimeSpan
    ) -> TimelineSegment {
        var wallTime = segment.programDateTime
        if wallTime == nil, let last, last.discontinuity == segment.discontinuity {
            wallTime = last.wallTime.flatMap { sum($0, last.duration) }
        }
        var before: TimelineSegment?
        if let known, let first = known.first, segment.number >= first.number,
            segment.number - first.number < Int64(known.count)
        {
            before = known[Int(segment.number - first.number)]
        }
        let isMeasured = before?.isMeasured ?? false
        // A duration of zero was rounded down, or the server does not know it; none is shorter than a frame.
        var duration = segment.duration >= shortestDuration ? segment.duration : unknownDuration
        if isMeasured, let before { duration = before.duration }
        return TimelineSegment(
            number: segment.number, discontinuity: segment.discontinuity, start: last?.end ?? origin,
            duration: duration, wallTime: wallTime ?? before?.wallTime, isGap: segment.isGap, isMeasured: isMeasured)
    }
}

/// The position of a segment on the player's timeline.
public struct TimelineSegment: Hashable, Sendable {
    /// The media sequence number.
    public var number: Int64
    /// The discontinuity sequence number in the last playlist that contained the segment.
    public var discontinuity: Int64
    /// The position of the first sample, from the origin of the timeline.
    public var start: TimeSpan
    /// The duration, from the playlist or measured.
    public var duration: TimeSpan
    /// The wall-clock time of the first sample; nil if it is unknown.
    public var wallTime: WallTime?
    /// Whether the segment is unavailable.
    public var isGap: Bool
    /// Whether the position comes from media timestamps, of this segment or a later one, and not from the playlist's
    /// durations.
    public var isMeasured = false

    /// The position after the last sample.
    public var end: TimeSpan { start + duration }
}

/// The position of a partial segment on the player's timeline.
public struct TimelinePart: Hashable, Sendable {
    /// The media sequence number of its segment.
    public var segment: Int64
    /// The index in its segment, from zero.
    public var index: Int
    /// The position of the first sample, from the origin of the timeline.
    public var start: TimeSpan
    /// The duration from the playlist.
    public var duration: TimeSpan

    /// The position after the last sample.
    public var end: TimeSpan { start + duration }
}

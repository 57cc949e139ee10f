public import PCastCore

/// The positions of a media playlist's segments on the player's timeline and on the wall clock.
///
/// The player's timeline begins at zero and is continuous while the window slides. Media sequence numbers identify
/// segments, so a position denotes the same frame after each reload.
public struct PlaylistTimeline: Sendable {
    /// The kind of change by a reload.
    public enum Change: Hashable, Sendable {
        /// The playlist has not changed.
        case unchanged
        /// Segments or parts were added or removed, or the playlist is complete.
        case advanced
        /// The window moved by more than its length, and `missing` segments were never listed.
        case gap(missing: Int64)
        /// The playlist is older than the present one, e.g. from a cache, and was ignored.
        case stale
        /// The numbers began again: it is a new presentation, whose positions follow those of the earlier one.
        case restarted
    }

    /// The last playlist that was not stale.
    public internal(set) var playlist: MediaPlaylist
    /// The segments of the window in order, the open one last.
    public internal(set) var segments: [TimelineSegment] = []
    /// The number of restarts of the presentation. Positions that were computed in an earlier epoch are invalid.
    public internal(set) var epoch = 0

    /// The last segments that left the window, whose frames may still be playing.
    var evicted: [TimelineSegment] = []

    /// The maximum number of remembered segments.
    static let evictedCount = 256
    /// The maximum distance of a position from zero. Only a misbehaving server exceeds it, and the timeline then
    /// restarts.
    static let maximumMagnitude = TimeSpan.seconds(20 * 366 * 86_400 as Int64)

    /// Creates the timeline of a playlist.
    ///
    /// - Parameters:
    ///   - playlist: The playlist.
    ///   - origin: The position of its first segment.
    public init(_ playlist: MediaPlaylist, from origin: TimeSpan = .zero) {
        self.playlist = playlist
        segments = Self.placed(playlist, from: origin, knowing: nil)
    }

    /// Creates the timeline of another rendition of the same presentation, on which a position denotes the same time.
    ///
    /// Media sequence numbers need not agree between renditions (RFC 8216, section 6.2.4), nor need both begin at the
    /// same time. The first of these that is possible aligns them: wall-clock times; the beginnings, if neither window
    /// slides; a common media sequence number; the ends.
    ///
    /// - Parameters:
    ///   - playlist: The playlist of the other rendition.
    ///   - other: The timeline to align with.
    public init(_ playlist: MediaPlaylist, alignedWith other: PlaylistTimeline) {
        self.init(playlist)
        guard let first = segments.first, let otherFirst = other.segments.first else { return }
        var origin = other.end - end
        if let shift = wallTimeShift(to: other) {
            origin = shift
        } else if !playlist.isLive && !other.playlist.isLive || playlist.kind == .event && other.playlist.kind == .event
        {
            origin = otherFirst.start
        } else if let common = other.segment(number: max(first.number, otherFirst.number)),
            let own = segment(number: common.number)
        {
            origin = common.start - own.start
        }
        for index in segments.indices { segments[index].start += origin }
        copyMeasurements(of: other)
    }

    /// Copies measured positions from another rendition whose segment durations are the same up to 20 ms.
    private mutating func copyMeasurements(of other: PlaylistTimeline) {
        guard let last = other.segments.last(where: \.isMeasured), let first = segments.first,
            first.number == other.segments.first?.number
        else { return }
        for placed in other.segments where placed.number <= last.number {
            guard let own = playlist.segment(placed.number), let its = other.playlist.segment(placed.number),
                (own.duration - its.duration).magnitude < .milliseconds(20)
            else { return }
        }
        var start = segments[0].start
        for index in segments.indices {
            segments[index].start = start
            if let placed = other.segment(number: segments[index].number), placed.number <= last.number {
                (segments[index].duration, segments[index].isMeasured) = (placed.duration, placed.isMeasured)
            }
            start = segments[index].end
        }
    }

    /// Returns the distance by which to move this timeline so that wall-clock times agree; nil if they are unknown or
    /// more than a day apart.
    private func wallTimeShift(to other: PlaylistTimeline) -> TimeSpan? {
        for segment in segments {
            guard let wallTime = segment.wallTime, let position = other.exactPosition(of: wallTime) else { continue }
            return position - segment.start
        }
        // No segment begins within the other window, so the last known times are compared.
        guard let own = segments.last(where: { $0.wallTime != nil }), let wallTime = own.wallTime,
            let far = other.segments.last(where: { $0.wallTime != nil }), let farTime = far.wallTime
        else { return nil }
        let (difference, overflows) = wallTime.nanosecondsSinceEpoch.subtractingReportingOverflow(
            farTime.nanosecondsSinceEpoch)
        guard !overflows, TimeSpan(nanoseconds: difference).magnitude < .seconds(86_400 as Int64) else { return nil }
        return far.start + TimeSpan(nanoseconds: difference) - own.start
    }
}

extension PlaylistTimeline {
    /// Moves the segment at a position, and those after it, to the timestamps of its media.
    ///
    /// Durations in playlists are rounded or wrong. The unmeasured segments before the position share the difference.
    ///
    /// - Parameters:
    ///   - position: The position at which the segment begins according to the timeline.
    ///   - distance: The time from the position to the segment's media; negative if its media begins earlier.
    public mutating func move(from position: TimeSpan, by distance: TimeSpan) {
        let close = TimeSpan.milliseconds(10)
        let distances = segments.lazy.map { ($0.start - position).magnitude }
        guard let nearest = distances.min(), let found = distances.firstIndex(of: nearest) else { return }
        let index = nearest <= close || segments[found].start > position ? found : found + 1
        guard index < segments.count else { return }
        for later in segments.indices[index...] { segments[later].start += distance }
        guard index > 0 else { return }
        let known = segments[..<index].lastIndex { $0.isMeasured }.map { $0 + 1 } ?? 0
        let first = min(known, index - 1)
        let (length, before) = (segments[index].start - segments[first].start, segments[index].start - distance)
        let share = length.seconds / max((before - segments[first].start).seconds, 1e-6)
        var start = segments[first].start
        for unknown in first..<index {
            segments[unknown].start = start
            segments[unknown].duration = max(
                TimeSpan(seconds: segments[unknown].duration.seconds * max(share, 0)), .zero)
            start = segments[unknown].end
        }
        segments[index - 1].duration = max(segments[index].start - segments[index - 1].start, .zero)
        segments[index - 1].isMeasured = true
    }

    /// Sets the end of the last segment to that of its media, if the playlist is not live.
    public mutating func end(at position: TimeSpan) {
        guard let last = segments.last, !playlist.isLive, position > last.start else { return }
        segments[segments.count - 1].duration = position - last.start
        segments[segments.count - 1].isMeasured = true
    }

    /// The position at which the window begins; zero if it is empty.
    public var start: TimeSpan { segments.first?.start ?? .zero }

    /// The position at which the last segment or part ends; zero if the window is empty.
    public var end: TimeSpan { segments.last?.end ?? .zero }

    /// Returns the position of the live edge, which is the end of the last part, or of the last complete segment
    /// without parts.
    public func liveEdge(usingParts: Bool) -> TimeSpan {
        guard !usingParts, let last = segments.last, playlist.openSegment?.number == last.number else { return end }
        return last.start
    }

    /// Returns the distance from the live edge that a player keeps (RFC 8216bis, section 4.4.3.8).
    ///
    /// The default is three target durations, or part target durations. The minimum is one target duration, or two part
    /// target durations, because loading takes time.
    ///
    /// - Parameter usingParts: Whether the player plays partial segments.
    /// - Returns: The hold-back.
    public func holdBack(usingParts: Bool) -> TimeSpan {
        if usingParts, let target = playlist.partTargetDuration {
            return max(playlist.serverControl.partHoldBack ?? target * 3, target * 2)
        }
        return max(playlist.serverControl.holdBack ?? playlist.targetDuration * 3, playlist.targetDuration)
    }

    /// Returns the range of positions that a player may seek to: the whole window, or up to the hold-back if the
    /// playlist is live. It has at least one position.
    public func seekableRange(usingParts: Bool = false) -> ClosedRange<TimeSpan> {
        guard playlist.isLive else { return start...end }
        return start...max(start, liveEdge(usingParts: usingParts) - holdBack(usingParts: usingParts))
    }

    /// The duration of the presentation; nil while it is live.
    public var duration: TimeSpan? { playlist.isLive ? nil : end - start }

    /// Returns the position at which to start playback (RFC 8216, section 6.3.3).
    ///
    /// - Parameters:
    ///   - usingParts: Whether the player plays partial segments.
    ///   - point: The start point of the multivariant playlist, which applies if the media playlist has none.
    /// - Returns: The start point within the seekable range. Without one, it is the end of the range for a live
    ///   playlist, and its beginning otherwise.
    public func startPosition(usingParts: Bool = false, default point: StartPoint? = nil) -> TimeSpan {
        let range = seekableRange(usingParts: usingParts)
        guard let point = playlist.start ?? point else {
            // A live playlist of type EVENT starts at its live edge, as a sliding window does.
            return playlist.isLive ? range.upperBound : range.lowerBound
        }
        let position = point.offset < .zero ? end + point.offset : start + point.offset
        return min(max(position, range.lowerBound), range.upperBound)
    }

    /// Returns the segment with a media sequence number; nil if the window does not contain it.
    public func segment(number: Int64) -> TimelineSegment? {
        guard let first = segments.first, let last = segments.last, number >= first.number, number <= last.number
        else { return nil }
        return segments[Int(number - first.number)]
    }

    /// Returns the segment that contains a position; nil outside the window. A position between two segments belongs to
    /// the later one.
    public func segment(at position: TimeSpan) -> TimelineSegment? {
        guard position >= start, position < end else { return nil }
        return segments[Self.index(of: position, in: segments)]
    }

    /// Returns the index of the last segment that begins at or before a position, 0 if none does.
    static func index(of position: TimeSpan, in segments: [TimelineSegment]) -> Int {
        var (low, high) = (0, segments.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if segments[middle].start <= position { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the parts of a segment with their positions; none if the segment has no parts or is not in the window.
    public func parts(of number: Int64) -> [TimelinePart] {
        guard let placed = segment(number: number),
            let segment = playlist.segment(number) ?? playlist.openSegment, segment.number == number
        else { return [] }
        var start = placed.start
        return segment.parts.enumerated().map { index, part in
            defer { start += part.duration }
            return TimelinePart(segment: number, index: index, start: start, duration: part.duration)
        }
    }

    /// Returns the part from which decoding must begin to show a position: the last one at or before it that contains a
    /// key frame. Returns nil if there is none and the whole segment must be loaded.
    public func independentPart(for position: TimeSpan) -> TimelinePart? {
        guard let placed = segment(at: position),
            let segment = playlist.segment(placed.number) ?? playlist.openSegment, segment.number == placed.number
        else { return nil }
        return parts(of: placed.number).last {
            $0.start <= position && (segment.parts[$0.index].isIndependent || $0.index == 0)
                && !segment.parts[$0.index].isGap
        }
    }
}

extension PlaylistTimeline {
    /// Returns the wall-clock time of a position; nil if it is unknown. After the end of the window, time continues
    /// from there. The last 256 segments that left the window are remembered.
    public func wallTime(at position: TimeSpan) -> WallTime? {
        if position < start, let last = evicted.last, let first = evicted.first, position >= first.start,
            position < last.end
        {
            return Self.wallTime(at: position, in: evicted)
        }
        return Self.wallTime(at: position, in: segments)
    }

    private static func wallTime(at position: TimeSpan, in segments: [TimelineSegment]) -> WallTime? {
        guard !segments.isEmpty else { return nil }
        let segment = segments[index(of: position, in: segments)]
        return segment.wallTime.flatMap { sum($0, position - segment.start) }
    }

    /// Returns the position in the window of a wall-clock time: the exact one, else the beginning of the next segment,
    /// else the end of the window. Returns nil if no wall-clock time is known.
    public func position(of wallTime: WallTime) -> TimeSpan? {
        if let exact = exactPosition(of: wallTime) { return exact }
        let later = segments.filter { $0.wallTime.map { $0 > wallTime } ?? false }
        if let next = later.min(by: { $0.wallTime! < $1.wallTime! }) { return next.start }
        return segments.contains { $0.wallTime != nil } ? end : nil
    }

    /// Returns the position of a wall-clock time within a segment; nil if no segment contains it. It is the first one
    /// if the clock was set back and two segments contain the time.
    func exactPosition(of wallTime: WallTime) -> TimeSpan? {
        for segment in segments {
            guard let begin = segment.wallTime, begin <= wallTime, let end = Self.sum(begin, segment.duration),
                wallTime < end
            else { continue }
            return segment.start + (wallTime - begin)
        }
        return nil
    }

    /// Returns the sum of a time and a duration; nil if it exceeds 64 bits of nanoseconds.
    static func sum(_ wallTime: WallTime, _ span: TimeSpan) -> WallTime? {
        let (sum, overflows) = wallTime.nanosecondsSinceEpoch.addingReportingOverflow(span.nanoseconds)
        return overflows ? nil : WallTime(nanosecondsSinceEpoch: sum)
    }
}

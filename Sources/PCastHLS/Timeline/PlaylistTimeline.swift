public import PCastMedia

/// Where the segments of a media playlist lie in time: on the player's own, which begins at zero and never jumps while
/// the window slides, and on the wall clock.
///
/// A segment is the same as long as its media sequence number is. So a position, once told, means the same picture after
/// each reload.
public struct PlaylistTimeline: Sendable {
    /// What a reload brought.
    public enum Change: Hashable, Sendable {
        case unchanged
        /// Segments or parts came, went, or the end was said.
        case advanced
        /// The window slid on by more than its length: so many segments were never seen.
        case gap(missing: Int64)
        /// It is older than what is known already, from a cache perhaps, and is not looked at.
        case stale
        /// The numbers begin anew: another presentation, whose positions go on behind the earlier one's.
        case restarted
    }

    public internal(set) var playlist: MediaPlaylist
    /// Those of the window in order, the open one last.
    public internal(set) var segments: [PlacedSegment] = []
    /// Rises when the presentation restarts: what was worked out before it means nothing.
    public internal(set) var epoch = 0

    /// Those that left the window last, whose pictures may still be played.
    var evicted: [PlacedSegment] = []

    /// How many are remembered.
    static let evictedCount = 256
    /// Positions beyond this are begun anew: only a server that means harm comes here.
    static let farthest = TimeSpan.seconds(20 * 366 * 86_400 as Int64)

    /// - Parameter origin: Where the first segment lies.
    public init(_ playlist: MediaPlaylist, from origin: TimeSpan = .zero) {
        self.playlist = playlist
        segments = Self.placed(playlist, from: origin, knowing: nil)
    }

    /// The timeline of another rendition of the same presentation, so that a position means the same moment in both.
    ///
    /// Numbers need not agree between renditions (RFC 8216, section 6.2.4), nor need both begin at once. So wall time
    /// tells; without any, both begin together if neither slides; then the same number counts as the same moment; and
    /// where that is impossible, both end together.
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
        keepMeasures(of: other)
    }

    /// Takes over where segments lie that were read of another rendition, where both are cut alike.
    private mutating func keepMeasures(of other: PlaylistTimeline) {
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

    /// How far this timeline has to be moved for the wall times to agree.
    private func wallTimeShift(to other: PlaylistTimeline) -> TimeSpan? {
        for segment in segments {
            guard let wallTime = segment.wallTime, let position = other.exactPosition(of: wallTime) else { continue }
            return position - segment.start
        }
        // None begins within the other window: by the nearest ends.
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
    /// Moves the segments from a position on to where their media lie, which were read; those behind them follow.
    ///
    /// What the playlist says of durations is rounded, or wrong. Segments between the last one that was measured and this
    /// position share the difference.
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

    /// The media of the last segment were read, and end there.
    public mutating func end(at position: TimeSpan) {
        guard let last = segments.last, !playlist.isLive, position > last.start else { return }
        segments[segments.count - 1].duration = position - last.start
        segments[segments.count - 1].isMeasured = true
    }

    /// Where the window begins.
    public var start: TimeSpan { segments.first?.start ?? .zero }

    /// Where the last segment ends, or the last part.
    public var end: TimeSpan { segments.last?.end ?? .zero }

    /// The end as who plays parts sees it, or who does not.
    public func liveEdge(usingParts: Bool) -> TimeSpan {
        guard !usingParts, let last = segments.last, playlist.openSegment?.number == last.number else { return end }
        return last.start
    }

    /// How far from the live edge a player shall stay (RFC 8216bis, section 4.4.3.8).
    ///
    /// Three target durations, or part target durations, if the server does not say; and never less than two part targets,
    /// or one target, whatever it says: what is asked for takes time to come.
    public func holdBack(usingParts: Bool) -> TimeSpan {
        if usingParts, let target = playlist.partTargetDuration {
            return max(playlist.serverControl.partHoldBack ?? target * 3, target * 2)
        }
        return max(playlist.serverControl.holdBack ?? playlist.targetDuration * 3, playlist.targetDuration)
    }

    /// Where a player may go: all of it, or up to the hold-back while it is live. Never nothing.
    public func seekableRange(usingParts: Bool = false) -> ClosedRange<TimeSpan> {
        guard playlist.isLive else { return start...end }
        return start...max(start, liveEdge(usingParts: usingParts) - holdBack(usingParts: usingParts))
    }

    /// How much there is; nil while it is live.
    public var duration: TimeSpan? { playlist.isLive ? nil : end - start }

    /// Where to begin: as the playlist says, or else the multivariant one; at the beginning, or for what is live at its
    /// end, where neither does (RFC 8216, section 6.3.3).
    public func startPosition(usingParts: Bool = false, default point: StartPoint? = nil) -> TimeSpan {
        let range = seekableRange(usingParts: usingParts)
        guard let point = playlist.start ?? point else {
            // A playlist of events is watched from where it is now, as one that slides.
            return playlist.isLive ? range.upperBound : range.lowerBound
        }
        let position = point.offset < .zero ? end + point.offset : start + point.offset
        return min(max(position, range.lowerBound), range.upperBound)
    }

    /// The segment of this number, if the window has it.
    public func segment(number: Int64) -> PlacedSegment? {
        guard let first = segments.first, let last = segments.last, number >= first.number, number <= last.number
        else { return nil }
        return segments[Int(number - first.number)]
    }

    /// The segment that holds a position; nil outside of the window. What begins where another ends holds that moment.
    public func segment(at position: TimeSpan) -> PlacedSegment? {
        guard position >= start, position < end else { return nil }
        return segments[Self.index(of: position, in: segments)]
    }

    /// The last that begins at the position or before it.
    static func index(of position: TimeSpan, in segments: [PlacedSegment]) -> Int {
        var (low, high) = (0, segments.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if segments[middle].start <= position { low = middle } else { high = middle }
        }
        return low
    }

    /// The first segment worth asking for that ends behind the position.
    public func playableSegment(from position: TimeSpan) -> PlacedSegment? {
        guard !segments.isEmpty else { return nil }
        return segments[Self.index(of: position, in: segments)...].first {
            $0.end > position && !$0.isGap && playlist.segment($0.number) != nil
        }
    }

    /// The parts of a segment, with their places.
    public func parts(of number: Int64) -> [PlacedPart] {
        guard let placed = segment(number: number),
            let segment = playlist.segment(number) ?? playlist.openSegment, segment.number == number
        else { return [] }
        var start = placed.start
        return segment.parts.enumerated().map { index, part in
            defer { start += part.duration }
            return PlacedPart(segment: number, index: index, start: start, duration: part.duration)
        }
    }

    /// Where to begin with parts so that a position can be shown: the last part at it or before it that holds a key frame;
    /// nil where no part serves, and a whole segment must.
    public func independentPart(for position: TimeSpan) -> PlacedPart? {
        guard let placed = segment(at: position),
            let segment = playlist.segment(placed.number) ?? playlist.openSegment, segment.number == placed.number
        else { return nil }
        return parts(of: placed.number).last {
            $0.start <= position && (segment.parts[$0.index].isIndependent || $0.index == 0)
                && !segment.parts[$0.index].isGap
        }
    }
}

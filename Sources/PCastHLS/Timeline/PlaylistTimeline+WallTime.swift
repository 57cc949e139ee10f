public import PCastCore

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

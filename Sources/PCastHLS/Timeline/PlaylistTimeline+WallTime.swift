public import PCastMedia

extension PlaylistTimeline {
    /// When what is at a position was made; nil where nothing tells. Beyond the window's end time goes on from there, and
    /// what left the window is remembered for a while.
    public func wallTime(at position: TimeSpan) -> WallTime? {
        if position < start, let last = evicted.last, let first = evicted.first, position >= first.start,
            position < last.end
        {
            return Self.wallTime(at: position, in: evicted)
        }
        return Self.wallTime(at: position, in: segments)
    }

    private static func wallTime(at position: TimeSpan, in segments: [PlacedSegment]) -> WallTime? {
        guard !segments.isEmpty else { return nil }
        let segment = segments[index(of: position, in: segments)]
        return segment.wallTime.flatMap { sum($0, position - segment.start) }
    }

    /// The position in the window at which the picture of a moment is: exactly, or where no picture is of that moment,
    /// where the next one begins; the window's own ends for what is before or behind all. nil where nothing tells.
    public func position(of wallTime: WallTime) -> TimeSpan? {
        if let exact = exactPosition(of: wallTime) { return exact }
        let later = segments.filter { $0.wallTime.map { $0 > wallTime } ?? false }
        if let next = later.min(by: { $0.wallTime! < $1.wallTime! }) { return next.start }
        return segments.contains { $0.wallTime != nil } ? end : nil
    }

    /// Where clocks jumped two segments may hold a moment: the first is meant.
    func exactPosition(of wallTime: WallTime) -> TimeSpan? {
        for segment in segments {
            guard let begin = segment.wallTime, begin <= wallTime, let end = Self.sum(begin, segment.duration),
                wallTime < end
            else { continue }
            return segment.start + (wallTime - begin)
        }
        return nil
    }

    /// nil for what is out of the range of 64 bits, wherever a server or a caller took it from.
    static func sum(_ wallTime: WallTime, _ span: TimeSpan) -> WallTime? {
        let (sum, overflows) = wallTime.nanosecondsSinceEpoch.addingReportingOverflow(span.nanoseconds)
        return overflows ? nil : WallTime(nanosecondsSinceEpoch: sum)
    }
}

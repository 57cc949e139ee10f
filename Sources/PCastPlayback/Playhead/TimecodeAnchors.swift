public import PCastCore
public import PCastHLS

/// The wall time of each position of an item, by anchors: between two of one run in a straight line, behind the last and
/// before the first as time goes. The clock of this machine counts only for live media that do not say anything.
public struct TimecodeAnchors: Sendable {
    /// Of each source, by position, one at each.
    private var anchors: [TimecodeAnchor.Source: [TimecodeAnchor]] = [:]

    /// Of each source; the oldest are forgotten.
    public static let capacity = 4_096
    /// Positions and times further away are no anchors, so that no sum of two overflows: some 70 years either way, and the
    /// years 1830 to 2110.
    private static let farthestPosition = TimeSpan(nanoseconds: 1 << 61)
    private static let farthestTime: Int64 = 1 << 62
    /// Two anchors of one run whose clocks differ by more than this share of the way between them stand on two sides of a
    /// jump that nobody told.
    private static let drift = 0.1

    public init() {}

    public var isEmpty: Bool { anchors.isEmpty }

    /// Takes the place of an anchor of the same source at the same position.
    public mutating func add(_ anchor: TimecodeAnchor) {
        guard Self.isUsable(anchor) else { return }
        var list = anchors[anchor.source] ?? []
        let index = Self.firstIndex(in: list) { $0.position >= anchor.position }
        if index < list.count, list[index].position == anchor.position {
            list[index] = anchor
        } else {
            list.insert(anchor, at: index)
        }
        if list.count > Self.capacity { list.removeFirst() }
        anchors[anchor.source] = list
    }

    /// Takes the dates of a playlist, in place of those that it said before.
    public mutating func replace(by timeline: PlaylistTimeline) {
        let dated = Self.ofDates(timeline)
        let usable = dated.filter(Self.isUsable)
        anchors[.programDateTime] = usable.isEmpty ? nil : usable
    }

    /// The wall times of a playlist's segments.
    static func ofDates(_ timeline: PlaylistTimeline) -> [TimecodeAnchor] {
        timeline.segments.suffix(capacity).compactMap { segment in
            segment.wallTime.map {
                TimecodeAnchor(
                    position: segment.start, wallTime: $0, source: .programDateTime, run: segment.discontinuity)
            }
        }
    }

    private static func isUsable(_ anchor: TimecodeAnchor) -> Bool {
        anchor.position >= -farthestPosition && anchor.position <= farthestPosition
            && (-farthestTime...farthestTime).contains(anchor.wallTime.nanosecondsSinceEpoch)
    }

    private static func firstIndex(
        in list: [TimecodeAnchor], where isBehind: (TimecodeAnchor) -> Bool
    ) -> Int {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(list[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Of the most trusted source that knows any.
    private var best: [TimecodeAnchor] {
        TimecodeAnchor.Source.allCases.reversed().lazy.compactMap { self.anchors[$0] }.first ?? []
    }

    /// When what is at a position was made; nil without an anchor.
    public func wallTime(at position: TimeSpan) -> WallTime? {
        let list = best
        guard !list.isEmpty, position >= -Self.farthestPosition, position <= Self.farthestPosition else { return nil }
        let index = Self.firstIndex(in: list) { $0.position > position }
        let anchor = list[max(index - 1, 0)]
        let offset = position - anchor.position
        if index > 0, index < list.count, let slope = Self.slope(from: anchor, to: list[index]) {
            return anchor.wallTime + TimeSpan(seconds: offset.seconds * slope)
        }
        return anchor.wallTime + offset
    }

    /// How wall time runs beside the position between two anchors; nil across a jump.
    private static func slope(from anchor: TimecodeAnchor, to next: TimecodeAnchor) -> Double? {
        guard anchor.run == next.run else { return nil }
        let slope = (next.wallTime - anchor.wallTime).seconds / (next.position - anchor.position).seconds
        return abs(slope - 1) <= drift ? slope : nil
    }

    /// The position in `range` of a moment: exactly, or where no position is of it, where the next one is that comes after
    /// it; an end of the range for what lies outside. nil without an anchor.
    public func position(of wallTime: WallTime, in range: ClosedRange<TimeSpan>) -> TimeSpan? {
        let list = best
        guard !list.isEmpty else { return nil }
        guard (-Self.farthestTime...Self.farthestTime).contains(wallTime.nanosecondsSinceEpoch) else {
            return wallTime.nanosecondsSinceEpoch < 0 ? range.lowerBound : range.upperBound
        }
        var next: TimecodeAnchor?
        for (index, anchor) in list.enumerated() {
            let following = index + 1 < list.count ? list[index + 1] : nil
            if anchor.wallTime > wallTime {
                // Before the first anchor time runs as behind it; before another one only if nothing else holds the moment.
                if index == 0 { return clamped(anchor.position - (anchor.wallTime - wallTime), range) }
                if next.map({ anchor.wallTime < $0.wallTime }) ?? true { next = anchor }
                continue
            }
            let slope = following.flatMap { Self.slope(from: anchor, to: $0) } ?? 1
            let position = anchor.position + TimeSpan(seconds: (wallTime - anchor.wallTime).seconds / slope)
            if following.map({ position < $0.position }) ?? true { return clamped(position, range) }
        }
        return next.map { clamped($0.position, range) } ?? range.upperBound
    }

    private func clamped(_ position: TimeSpan, _ range: ClosedRange<TimeSpan>) -> TimeSpan {
        min(max(position, range.lowerBound), range.upperBound)
    }
}

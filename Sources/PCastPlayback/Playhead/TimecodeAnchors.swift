package import PCastCore
package import PCastHLS

/// A mapping from positions of an item to wall-clock time. It interpolates linearly between two anchors of one run, and
/// it extrapolates with slope 1 before the first and after the last anchor. Only anchors of the most reliable source
/// are used.
package struct TimecodeAnchors: Sendable {
    /// The anchors of each source, ordered by position, with at most one for a position.
    private var anchors: [TimecodeAnchor.Source: [TimecodeAnchor]] = [:]

    /// The maximum number of anchors of each source. The first ones are removed.
    package static let capacity = 4_096
    /// The maximum magnitude of a position, which is about 36 years. Positions beyond it are ignored.
    ///
    /// With `usableTimes`, a difference of two times is less than 1.5 × 2^62 ns. Even if it is divided by the smallest
    /// slope, which is 0.9, its sum with a position is less than 2^63 ns.
    private static let farthestPosition = TimeSpan(nanoseconds: 1 << 60)
    /// The nanoseconds since 1970 of usable times: the years 1897 to 2116. Anchors beyond them are ignored.
    private static let usableTimes: ClosedRange<Int64> = -(1 << 61)...(1 << 62)
    /// The maximum deviation of the slope from 1. A greater deviation between two anchors of one run means that the
    /// clock jumped without notice.
    private static let drift = 0.1

    /// Creates a mapping without anchors.
    package init() {}

    /// Whether there are no anchors.
    package var isEmpty: Bool { anchors.isEmpty }

    /// Adds an anchor. It replaces an anchor of the same source at the same position. An anchor beyond the limits is
    /// ignored.
    package mutating func add(_ anchor: TimecodeAnchor) {
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

    /// Replaces all anchors of a playlist's dates by those of `timeline`.
    package mutating func replace(by timeline: PlaylistTimeline) {
        let dated = Self.ofDates(timeline)
        let usable = dated.filter(Self.isUsable)
        anchors[.programDateTime] = usable.isEmpty ? nil : usable
    }

    /// Returns anchors for the last segments of a playlist that have a wall-clock time.
    static func ofDates(_ timeline: PlaylistTimeline) -> [TimecodeAnchor] {
        timeline.segments.suffix(capacity).compactMap { segment in
            segment.wallTime.map {
                TimecodeAnchor(
                    position: segment.start, wallTime: $0, source: .programDateTime, run: segment.discontinuity)
            }
        }
    }

    /// Whether position and time are within the limits.
    private static func isUsable(_ anchor: TimecodeAnchor) -> Bool {
        anchor.position >= -farthestPosition && anchor.position <= farthestPosition
            && usableTimes.contains(anchor.wallTime.nanosecondsSinceEpoch)
    }

    /// Returns the first index for which the condition holds. The condition must hold for all later indexes too.
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

    /// The anchors of the most reliable source that has any.
    private var best: [TimecodeAnchor] {
        TimecodeAnchor.Source.allCases.reversed().lazy.compactMap { self.anchors[$0] }.first ?? []
    }

    /// Returns the wall-clock time of a position; nil if there are no anchors.
    package func wallTime(at position: TimeSpan) -> WallTime? {
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

    /// Returns the increase of wall-clock time per unit of position between two anchors; nil if the clock jumps between
    /// them.
    private static func slope(from anchor: TimecodeAnchor, to next: TimecodeAnchor) -> Double? {
        guard anchor.run == next.run else { return nil }
        let slope = (next.wallTime - anchor.wallTime).seconds / (next.position - anchor.position).seconds
        return abs(slope - 1) <= drift ? slope : nil
    }

    /// Returns the position in `range` of a wall-clock time; nil if there are no anchors. If the time falls into a jump
    /// of the clock, this is the next later position. If it is outside the range, this is an end of the range.
    package func position(of wallTime: WallTime, in range: ClosedRange<TimeSpan>) -> TimeSpan? {
        let list = best
        guard !list.isEmpty else { return nil }
        guard Self.usableTimes.contains(wallTime.nanosecondsSinceEpoch) else {
            return wallTime.nanosecondsSinceEpoch < 0 ? range.lowerBound : range.upperBound
        }
        var next: TimecodeAnchor?
        for (index, anchor) in list.enumerated() {
            let following = index + 1 < list.count ? list[index + 1] : nil
            if anchor.wallTime > wallTime {
                // Before the first anchor the slope is 1. A later anchor is used only if no section contains the time.
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

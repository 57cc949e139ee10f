package import PCastCore
package import PCastHLS

/// The date ranges of a stream (`EXT-X-DATERANGE`; RFC 8216bis, section 4.4.5.1), which the playlists of its tracks list.
///
/// A playlist lists a range when its media reaches the start of the range, and until it has no media of the range any more.
/// Memory is bounded: of the ranges that have begun, the last ones are kept, and of those that have not, the first.
package struct PlaylistDateRanges: Sendable {
    /// The maximum number of ranges that have begun. If there are more, the earliest are removed.
    package static let listedLimit = 32
    /// The maximum number of ranges that have not begun. If there are more, the latest are removed.
    package static let futureLimit = 64

    /// The ranges in the order of their starts.
    private var ranges: [DateRange] = []

    /// Creates an empty list.
    package init() {}

    /// The number of ranges.
    package var count: Int { ranges.count }

    /// Adds a range. A range whose ID is known is not added again, because the attributes of a range do not change. Only the
    /// end of a break has the ID of its beginning, whose tag it completes.
    package mutating func add(_ range: DateRange) {
        let kinds = range.scte35.map(\.kind)
        guard !ranges.contains(where: { $0.id == range.id && $0.scte35.map(\.kind) == kinds }) else { return }
        let index = ranges.firstIndex { $0.start > range.start } ?? ranges.endIndex
        ranges.insert(range, at: index)
        if ranges.count > Self.listedLimit + Self.futureLimit { ranges.removeLast() }
    }

    /// Removes the ranges that end before the first segment of all playlists, and those beyond the limits.
    ///
    /// - Parameters:
    ///   - first: The wall-clock time at which the first segment begins.
    ///   - end: The wall-clock time at which the last part ends.
    package mutating func trim(before first: WallTime, end: WallTime) {
        guard !ranges.isEmpty else { return }
        ranges.removeAll { Self.lastTime(of: $0) < first }
        let begun = ranges.prefix { $0.start <= end }.count
        let excess = ranges.count - begun - Self.futureLimit
        if excess > 0 { ranges.removeLast(excess) }
        if begun > Self.listedLimit { ranges.removeFirst(begun - Self.listedLimit) }
    }

    /// Returns the ranges that a playlist lists.
    ///
    /// - Parameters:
    ///   - first: The wall-clock time at which the first segment of the playlist begins.
    ///   - end: The wall-clock time at which its last part ends.
    /// - Returns: The ranges in the order of their starts, at most ``listedLimit``.
    package func listed(from first: WallTime, to end: WallTime) -> [DateRange] {
        Array(
            ranges.prefix { $0.start <= end }.filter { Self.lastTime(of: $0) >= first }.suffix(Self.listedLimit))
    }

    /// Returns the time at which a range ends, or its start if the end is unknown.
    private static func lastTime(of range: DateRange) -> WallTime {
        range.end ?? range.start + (range.duration ?? range.plannedDuration ?? .zero)
    }
}

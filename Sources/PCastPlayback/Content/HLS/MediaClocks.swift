internal import PCastCodecs
internal import PCastMedia

/// Where the timestamps of segments lie on the timeline: the same for all renditions of a presentation.
///
/// Set by the first segment that is read of each clock, and kept: so a picture is at the same position whenever it is
/// read. Only where timestamps leave what the playlist says, for a server forgot to tell of a discontinuity, are they
/// set anew.
struct MediaClocks {
    private var offsets: [SegmentClock: TimeSpan] = [:]
    private var order: [SegmentClock] = []

    private static let capacity = 1_024
    /// From the playlist's word. Its durations are rounded, and renditions need not be cut at one place.
    private static let farthest = TimeSpan.seconds(10 as Int64)

    /// How far the timeline is ahead of timestamps.
    ///
    /// - Parameters:
    ///   - first: the timestamp of what a segment begins with.
    ///   - wrap: after how long timestamps begin anew.
    mutating func offset(of segment: LoadedSegment, first: TimeSpan, wrap: TimeSpan?) -> TimeSpan {
        if let offset = offsets[segment.clock] {
            let unwound = Self.unwound(first + offset, near: segment.start, wrap) - first
            if (first + unwound - segment.start).magnitude <= Self.farthest + segment.duration { return unwound }
        }
        let offset = segment.start - first
        if offsets.updateValue(offset, forKey: segment.clock) == nil { order.append(segment.clock) }
        if order.count > Self.capacity { offsets[order.removeFirst()] = nil }
        return offset
    }

    /// That of a segment whose clock is known; nil where it is not.
    func offset(of segment: LoadedSegment) -> TimeSpan? { offsets[segment.clock] }

    /// A time by a clock that begins anew, in the turn that is nearest to what is expected.
    static func unwound(_ time: TimeSpan, near expected: TimeSpan, _ wrap: TimeSpan?) -> TimeSpan {
        guard let wrap else { return time }
        let turns = ((expected - time).seconds / wrap.seconds).rounded()
        return time + wrap * Int64(turns)
    }
}

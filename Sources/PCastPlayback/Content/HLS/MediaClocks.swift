internal import PCastCodecs
internal import PCastCore

/// Where the timestamps of segments lie on the timeline: the same for all renditions of a presentation.
///
/// Set by the first segment that is read of each clock, and kept: so a picture is at the same position whenever it is
/// read. Only where timestamps jump, for a server forgot to tell of a discontinuity, are they set anew.
struct MediaClocks {
    private var offsets: [SegmentClock: TimeSpan] = [:]
    private var order: [SegmentClock] = []

    private static let capacity = 1_024
    /// From the playlist's word, of a segment that does not follow what was read.
    private static let farthest = TimeSpan.seconds(10 as Int64)
    /// The playlist and the timestamps say the same.
    private static let agreement = TimeSpan.milliseconds(500)
    /// What was read and the playlist say the same; then the playlist is more exact.
    private static let exactness = TimeSpan.milliseconds(100)

    /// How far the timeline is ahead of timestamps.
    ///
    /// Timestamps go on within a discontinuity (RFC 8216, section 6.3.3). Where they jump without one, a segment is placed
    /// behind the media that were read before it.
    ///
    /// - Parameters:
    ///   - first: the timestamp of what a segment begins with.
    ///   - wrap: after how long timestamps begin anew.
    ///   - end: of the media of the segment before; nil where this one does not follow it.
    mutating func offset(
        of segment: LoadedSegment, first: TimeSpan, wrap: TimeSpan?, behind end: MediaEnd?
    ) -> TimeSpan {
        if let offset = segment.offset { return offset }
        var expected = segment.start
        if let end, (end.position - expected).magnitude > Self.exactness { expected = end.position }
        var offset = expected - first
        if let known = offsets[segment.clock] {
            let position = Self.unwound(first + known, near: expected, wrap)
            if isRight(position, of: segment, expected, behind: end) { offset = position - first }
        }
        segment.offset = offset
        if offsets.updateValue(offset, forKey: segment.clock) == nil { order.append(segment.clock) }
        if order.count > Self.capacity { offsets[order.removeFirst()] = nil }
        return offset
    }

    /// Whether a segment lies where its timestamps say.
    private func isRight(
        _ position: TimeSpan, of segment: LoadedSegment, _ expected: TimeSpan, behind end: MediaEnd?
    ) -> Bool {
        if (position - segment.start).magnitude <= Self.agreement { return true }
        if let end { return (position - end.position).magnitude <= Self.agreement + end.interval }
        if segment.isMeasured { return false }
        // Nothing before it was read: the playlist's durations may be wrong by much, the more the further off it lies.
        return (position - segment.start).magnitude <= Self.farthest + segment.duration + segment.start.magnitude / 2
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

/// Where the media of a segment end, behind which those of the next lie.
struct MediaEnd: Sendable {
    var position: TimeSpan
    /// The longest between two pictures.
    var interval: TimeSpan
}

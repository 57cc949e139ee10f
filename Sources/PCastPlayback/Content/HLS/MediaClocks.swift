internal import PCastCodecs
internal import PCastCore

/// The offsets from timestamps of segments to positions, which all renditions of a presentation share.
///
/// The first segment that is read of each clock sets the offset, so that a frame always has the same position. The
/// offset changes only if timestamps jump without a discontinuity tag.
struct MediaClocks {
    private var offsets: [SegmentClock: TimeSpan] = [:]
    private var order: [SegmentClock] = []

    /// The maximum number of clocks.
    private static let capacity = 1_024
    /// The maximum difference from the playlist for a segment that does not follow one that was read.
    private static let maximumDistance = TimeSpan.seconds(10 as Int64)
    /// The maximum difference at which playlist and timestamps agree.
    private static let agreement = TimeSpan.milliseconds(500)
    /// The maximum difference at which playlist and earlier media agree. The playlist is then more precise.
    private static let exactness = TimeSpan.milliseconds(100)

    /// Returns the offset of a segment: its position minus its timestamp.
    ///
    /// Timestamps are continuous within a discontinuity sequence number (RFC 8216, section 6.3.3). If they jump, the
    /// segment is placed after the media that were read before it.
    ///
    /// - Parameters:
    ///   - segment: The segment.
    ///   - first: The timestamp of its first frame.
    ///   - wrap: The period after which timestamps wrap around; nil if they do not.
    ///   - end: The end of the media of the previous segment; nil if the segment does not follow it.
    /// - Returns: The offset.
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

    /// Whether the position from the timestamps is plausible.
    private func isRight(
        _ position: TimeSpan, of segment: LoadedSegment, _ expected: TimeSpan, behind end: MediaEnd?
    ) -> Bool {
        if (position - segment.start).magnitude <= Self.agreement { return true }
        if let end { return (position - end.position).magnitude <= Self.agreement + end.interval }
        if segment.isMeasured { return false }
        // If no media before it were read, the error of the playlist may be great and increases with the distance.
        let tolerance = Self.maximumDistance + segment.duration + segment.start.magnitude / 2
        return (position - segment.start).magnitude <= tolerance
    }

    /// Returns the offset of a segment's clock; nil if it is unknown.
    func offset(of segment: LoadedSegment) -> TimeSpan? { offsets[segment.clock] }

    /// Returns the time of a clock that wraps around, in the period that is nearest to `expected`.
    static func unwound(_ time: TimeSpan, near expected: TimeSpan, _ wrap: TimeSpan?) -> TimeSpan {
        guard let wrap else { return time }
        let turns = ((expected - time).seconds / wrap.seconds).rounded()
        return time + wrap * Int64(turns)
    }
}

/// The end of the media of a segment, after which the next segment begins.
struct MediaEnd: Sendable {
    var position: TimeSpan
    /// The longest interval between two frames.
    var interval: TimeSpan
}

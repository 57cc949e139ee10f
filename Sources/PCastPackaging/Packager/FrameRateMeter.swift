internal import PCastCore

/// The frame rate of a rendition with video, which a multivariant playlist states.
struct FrameRateMeter: Sendable {
    /// The highest rate of a segment since the last discontinuity that has one; nil before the first segment.
    private var segmentRate: Double?
    /// The rate of the first part; nil before it.
    private var partRate: Double?
    /// Whether the rate of the next segment replaces that of segments before a discontinuity.
    private var replacesRate = false

    private static let usualRates: [Double] = [
        10, 12, 12.5, 15, 20, 24_000 / 1_001, 24, 25, 30_000 / 1_001, 30, 48, 50, 60_000 / 1_001, 60, 90, 100, 120,
    ]

    /// The frame rate: the highest one of a segment (RFC 8216bis, section 4.4.6.2), or before the first segment that of a
    /// part; nil before the first part. A rate within 2 % of a usual one is that one, because frames do not arrive exactly on
    /// time.
    var rate: Double? {
        guard let rate = segmentRate ?? partRate else { return nil }
        let usual = Self.usualRates.min { abs($0 - rate) < abs($1 - rate) } ?? rate
        let nominal = abs(usual - rate) <= usual * 0.02 ? usual : rate
        return (nominal * 1_000).rounded() / 1_000
    }

    /// Records that a discontinuity begins, after which frames may have another rate.
    mutating func beginSequence() { replacesRate = true }

    /// Records the rate of the first part.
    mutating func note(firstPart rate: Double) { partRate = rate }

    /// Records the number of frames of a complete segment. A segment with a gap, or a short one, has no rate.
    mutating func note(_ frameCount: Int, in segment: PackagedSegment, of segmentDuration: TimeSpan) {
        let isShort = segment.duration < segmentDuration / 2
        guard segmentRate == nil || !isShort && !segment.parts.contains(where: \.isGap) else { return }
        let rate = Double(frameCount) / segment.duration.seconds
        segmentRate = replacesRate ? rate : max(rate, segmentRate ?? 0)
        replacesRate = isShort
    }
}

import PCastCore

/// Detects overuse of a path from the trend of its delay.
///
/// It follows libwebrtc's detector (draft-ietf-rmcat-gcc-02, section 5.4): the trend, multiplied by the number of
/// groups (at most 60) and by 4, is compared with a threshold. The threshold follows it slowly up (0.0087) and faster
/// down (0.039) between 6 and 600. This prevents that loss-based flows starve this flow (Carlucci et al., "Congestion
/// Control for Web Real-Time Communication", 2017).
struct OveruseDetector: Sendable {
    /// The use of the path.
    enum Usage: Hashable, Sendable {
        case normal, overusing
        /// The queue of the path decreases.
        case underusing
    }

    /// The factor of the trend.
    static let gain = 4.0
    static let initialThreshold = 12.5
    /// The range of the threshold.
    static let thresholdRange = 6.0...600.0
    /// The gain of the threshold upwards.
    static let rise = 0.0087
    /// The gain of the threshold downwards.
    static let fall = 0.039
    /// The distance above the threshold from which a trend is considered a step that the threshold does not follow.
    static let maximumStep = 15.0
    /// The maximum number of groups in the comparison.
    private static let maximumCount = 60
    /// The minimum duration of overuse.
    private static let timeout = TimeSpan.milliseconds(10)
    /// The maximum interval by which the threshold is updated.
    private static let maximumInterval = TimeSpan.milliseconds(100)

    /// The use of the path at the last group.
    private(set) var usage = Usage.normal
    /// The adaptive threshold.
    private(set) var threshold = Self.initialThreshold
    /// The duration of the present overuse; nil if there is none.
    private var overusingFor: TimeSpan?
    private var overusingCount = 0
    private var previousSlope = 0.0
    private var updatedAt: TimeSpan?

    /// Processes a group of packets.
    ///
    /// - Parameters:
    ///   - slope: The slope of the trend.
    ///   - count: The number of groups in the trend.
    ///   - sendDelta: The send interval to the group before.
    ///   - arrival: The arrival time by the peer's clock.
    mutating func update(slope: Double, of count: Int, sendDelta: TimeSpan, arrival: TimeSpan) {
        guard count >= 2 else { return }
        let amplified = Double(min(count, Self.maximumCount)) * slope * Self.gain
        if amplified > threshold {
            overusingFor = (overusingFor ?? TimeSpan.zero - sendDelta / 2) + sendDelta
            overusingCount += 1
            if overusingFor! > Self.timeout, overusingCount > 1, slope >= previousSlope {
                overusingFor = .zero
                overusingCount = 0
                usage = .overusing
            }
        } else {
            overusingFor = nil
            overusingCount = 0
            usage = amplified < -threshold ? .underusing : .normal
        }
        previousSlope = slope
        follow(abs(amplified), arrival: arrival)
    }

    /// Moves the threshold towards the trend.
    private mutating func follow(_ amplified: Double, arrival: TimeSpan) {
        let interval = min(max(arrival - (updatedAt ?? arrival), .zero), Self.maximumInterval)
        updatedAt = arrival
        guard amplified <= threshold + Self.maximumStep else { return }
        let factor = amplified < threshold ? Self.fall : Self.rise
        let moved = threshold + factor * (amplified - threshold) * interval.milliseconds
        threshold = min(max(moved, Self.thresholdRange.lowerBound), Self.thresholdRange.upperBound)
    }
}

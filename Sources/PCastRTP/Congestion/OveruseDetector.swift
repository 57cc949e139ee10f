import PCastMedia

/// Says from the trend of the delay whether a path is used beyond what it carries.
///
/// After libwebrtc's detector: the trend times the number of groups (60 at most) times 4, against a threshold that
/// follows it slowly up (0.0087) and faster down (0.039), between 6 and 600, so that the delays that a loss-based flow
/// causes do not starve this one (Carlucci et al., "Congestion Control for Web Real-Time Communication", 2017; CC5).
struct OveruseDetector: Sendable {
    enum Usage: Hashable, Sendable {
        case normal, overusing
        /// Queues drain.
        case underusing
    }

    static let gain = 4.0
    static let initialThreshold = 12.5
    static let thresholdRange = 6.0...600.0
    static let rise = 0.0087
    static let fall = 0.039
    /// A trend that is further off than this is a jump, and not followed.
    static let maximumStep = 15.0
    private static let maximumCount = 60
    private static let patience = TimeSpan.milliseconds(10)
    private static let maximumInterval = TimeSpan.milliseconds(100)

    private(set) var usage = Usage.normal
    private(set) var threshold = Self.initialThreshold
    private var overusingFor: TimeSpan?
    private var overusingCount = 0
    private var previousSlope = 0.0
    private var updatedAt: TimeSpan?

    /// - Parameters:
    ///   - slope: of the trend, which has seen `count` groups.
    ///   - sendDelta: from the group before to this one.
    ///   - arrival: by the peer's clock.
    mutating func update(slope: Double, of count: Int, sendDelta: TimeSpan, arrival: TimeSpan) {
        guard count >= 2 else { return }
        let amplified = Double(min(count, Self.maximumCount)) * slope * Self.gain
        if amplified > threshold {
            overusingFor = (overusingFor ?? TimeSpan.zero - sendDelta / 2) + sendDelta
            overusingCount += 1
            if overusingFor! > Self.patience, overusingCount > 1, slope >= previousSlope {
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

    private mutating func follow(_ amplified: Double, arrival: TimeSpan) {
        let interval = min(max(arrival - (updatedAt ?? arrival), .zero), Self.maximumInterval)
        updatedAt = arrival
        guard amplified <= threshold + Self.maximumStep else { return }
        let factor = amplified < threshold ? Self.fall : Self.rise
        let moved = threshold + factor * (amplified - threshold) * interval.milliseconds
        threshold = min(max(moved, Self.thresholdRange.lowerBound), Self.thresholdRange.upperBound)
    }
}

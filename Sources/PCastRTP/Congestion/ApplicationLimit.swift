import PCastCore

/// Whether the application sends less than it may, so that the arriving bit rate is no measure of the path.
///
/// It follows libwebrtc's `AlrDetector`: a budget of 65 % of the target over 500 ms. The application is limited when
/// more than 80 % of the budget is unused, until less than 50 % is.
struct ApplicationLimit: Sendable {
    /// The share of the target that the application is expected to use.
    static let usage = 0.65
    /// The duration of the budget in seconds.
    static let window = 0.5
    /// The unused share of the budget above which the application is limited.
    static let start = 0.8
    /// The unused share below which it is not limited any more.
    static let stop = 0.5

    /// Whether the application is limited.
    private(set) var isLimited = false
    /// The time at which it was last not limited any more; nil if never.
    private(set) var endedAt: Instant?
    /// The unused budget in bytes.
    private var unused = 0.0
    private var updatedAt: Instant?

    /// Records sent bytes. `target` is in kilobits per second.
    @inline(__always)
    mutating func sent(_ size: Int, target: Double, at now: Instant) {
        let bytesPerSecond = target * 125 * Self.usage
        let capacity = bytesPerSecond * Self.window
        if let updatedAt { unused += bytesPerSecond * (now - updatedAt).seconds }
        updatedAt = now
        unused = min(max(unused - Double(size), -capacity), capacity)
        if unused > Self.start * capacity {
            isLimited = true
        } else if unused < Self.stop * capacity, isLimited {
            isLimited = false
            endedAt = now
        }
    }
}

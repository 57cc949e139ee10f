import PCastMedia

/// Whether the application sends less than it may, so that what arrives says little of the path.
///
/// After libwebrtc's `AlrDetector`: a budget of 65 % of the target over 500 ms; limited from 80 % unused on, until only
/// 50 % are.
struct ApplicationLimit: Sendable {
    static let usage = 0.65
    static let window = 0.5
    static let start = 0.8
    static let stop = 0.5

    private(set) var isLimited = false
    /// When it last stopped being limited.
    private(set) var endedAt: Instant?
    /// Bytes.
    private var unused = 0.0
    private var updatedAt: Instant?

    /// - Parameter target: kilobits a second.
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

/// When a frame was captured, by its first sender's clock (WebRTC's abs-capture-time header extension).
public struct AbsoluteCaptureTime: Hashable, Sendable {
    /// A 64-bit NTP timestamp.
    public var ntpTimestamp: UInt64

    /// What to add to reach the clock of the sender of this hop, in 2^-32 seconds; nil when not known. A relay changes
    /// this and nothing else.
    public var clockOffset: Int64?

    public init(ntpTimestamp: UInt64, clockOffset: Int64? = nil) {
        self.ntpTimestamp = ntpTimestamp
        self.clockOffset = clockOffset
    }
}

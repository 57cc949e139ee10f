/// The capture time of a frame by the clock of its first sender (WebRTC's abs-capture-time header extension).
package struct AbsoluteCaptureTime: Hashable, Sendable {
    /// The capture time as a 64-bit NTP timestamp.
    package var ntpTimestamp: UInt64

    /// The offset from the capture clock to the clock of the sender of this hop, in 2^-32 seconds; nil if it is
    /// unknown. An SFU changes only this value.
    package var clockOffset: Int64?

    /// Creates a capture time.
    package init(ntpTimestamp: UInt64, clockOffset: Int64? = nil) {
        self.ntpTimestamp = ntpTimestamp
        self.clockOffset = clockOffset
    }
}

package import PCastCore

extension CaptionCue {
    /// Parses a cue of the protocol; nil if a time is out of range. ``PCastCore/CaptionCue/problem`` is not checked.
    package init?(_ message: PCastCaptionCue) {
        guard let captureTime = WallTime(wire: message.captureTime), message.duration <= Self.longestDuration else {
            return nil
        }
        self.init(
            text: message.text, captureTime: captureTime, duration: .milliseconds(Int64(message.duration)))
    }

    /// The maximum duration of the protocol in milliseconds, so that no sum overflows.
    private static let longestDuration: UInt64 = 86_400_000
}

extension PCastCaptionCue {
    /// Creates the message of a cue. Times are rounded down to milliseconds.
    package init(_ cue: CaptionCue) {
        self.init()
        captureTime = cue.captureTime.wire
        duration = UInt64(max(TimeSpan(cue.duration).nanoseconds / 1_000_000, 0))
        text = cue.text
    }
}

extension WallTime {
    /// The latest time of the protocol: the year 2100.
    private static let latest: UInt64 = 4_102_444_800_000

    /// Parses milliseconds since 1970; nil after the year 2100.
    package init?(wire milliseconds: UInt64) {
        guard milliseconds <= Self.latest else { return nil }
        self.init(millisecondsSinceEpoch: Int64(milliseconds))
    }

    /// The time in milliseconds since 1970, rounded down; 0 for an earlier time.
    package var wire: UInt64 { UInt64(max(millisecondsSinceEpoch, 0)) }
}

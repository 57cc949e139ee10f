public import PCastMedia

/// How long a missing packet is worth waiting for.
public enum RetransmissionPatience {
    /// Of video: two round trips, for a request or its answer may be lost once, and no less than 100 ms (JB1: only
    /// while something is missing, never in advance).
    public static func video(roundTripTime: TimeSpan) -> TimeSpan {
        max(roundTripTime * 2, .milliseconds(100))
    }

    /// Of audio, which conceals a lost packet well and late ones not at all.
    public static let audio = TimeSpan.milliseconds(60)
}

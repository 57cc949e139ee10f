public import PCastMedia

/// How long a missing packet is worth waiting for.
public enum RetransmissionPatience {
    /// Of video: until the third request has been answered, for two of requests and answers may be lost; of packets of which
    /// a tenth is lost, one in a thousand is not there by then. No less than 250 ms, for what was lost on the publisher's
    /// hop is asked for there and comes later than our own round trip says (NACK9), and a key frame would not come sooner.
    /// (JB1: only while something is missing, never in advance.)
    public static func video(roundTripTime: TimeSpan) -> TimeSpan {
        let requests = Int64(3)
        let interval = NACKRequester.interval(roundTrip: roundTripTime)
        return max(interval * requests + grace, .milliseconds(250))
    }

    /// Of audio that is not asked for again: what is overtaken comes within this, and a lost packet is concealed well.
    public static let audio = TimeSpan.milliseconds(60)

    /// Of audio that is asked for again: one round trip, for a second would hold up all that follows for too long.
    public static func audio(roundTripTime: TimeSpan) -> TimeSpan {
        min(max(NACKRequester.interval(roundTrip: roundTripTime) + grace, audio), .milliseconds(250))
    }

    /// By which an answer may be later than the round trip says.
    private static let grace = TimeSpan.milliseconds(20)
}

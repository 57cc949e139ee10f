import PCastCore
import PCastRTP

/// How long pictures are to be held so that what one hop loses can be sent again before it is missed.
///
/// A receiver finds that out itself, by what comes late: a browser not before pictures have stood, and never enough for what
/// is lost twice. Who sends again knows how much is lost, and how long the way is.
struct RetransmissionLatency {
    /// From this loss on one request is waited for; where more is lost, one in a thousand of its answers is lost, too.
    private static let once = 0.008
    private static let twice = 0.035
    /// For so long after it, as losses come back.
    private static let memory = TimeSpan.seconds(30 as Int64)
    /// Of the mean's last values: five seconds' looks.
    private static let weight = 0.1
    private static let fewestLooks = 4
    /// A mean of fewer looks may be off by as much as this, less with each: 2 % of some hundred packets are now and then 5.
    private static let unsureLooks = 16
    private static let doubt = 0.03
    /// The time that the first answer may be late. A browser repeats a request every 100 ms, whatever the round-trip time
    /// is. With less, a packet that is lost three times at 2 % freezes the video in about every other minute.
    private static let firstGrace = TimeSpan.milliseconds(35)
    /// The additional time that the second answer may be late.
    private static let secondGrace = TimeSpan.milliseconds(5)

    private var mean = 0.0
    private var looks = 0
    private var requests: Int64 = 0
    private var until: Instant?

    /// - Parameter loss: of the packets sent over the hop since the last look, how many were lost; 0...1.
    mutating func observe(_ loss: Double, at now: Instant) {
        looks = min(looks + 1, 1_000)
        mean += (loss - mean) * max(Self.weight, 1 / Double(looks))
        guard looks >= Self.fewestLooks else { return }
        let missing = Double(max(Self.unsureLooks - looks, 0)) / Double(Self.unsureLooks - Self.fewestLooks)
        let needed: Int64 = mean >= Self.twice + Self.doubt * missing ? 2 : mean >= Self.once ? 1 : 0
        // What few looks said is not kept when enough of them say less.
        let isCorrected = looks == Self.unsureLooks && needed < requests
        if needed >= requests, needed > 0 {
            requests = needed
            until = now + Self.memory
        } else if let until, now >= until || isCorrected {
            requests = needed
            self.until = needed > 0 ? now + Self.memory : nil
        }
    }

    /// Whether so much is lost that even the answer to a request may be.
    var losesAnswers: Bool { requests > 1 }

    /// - Parameter roundTrip: over the hop and back.
    func delay(roundTrip: TimeSpan) -> TimeSpan {
        guard requests > 0 else { return .zero }
        return NACKRequester.interval(roundTrip: roundTrip) * requests + Self.firstGrace
            + Self.secondGrace * (requests - 1)
    }
}

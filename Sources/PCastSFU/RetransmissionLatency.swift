import PCastCore
import PCastRTP

/// The time for which a viewer should hold frames, so that retransmissions arrive before the frames are shown.
///
/// A receiver adapts to late packets by itself. A browser does so only after its video has frozen, and never enough for
/// packets that are lost twice. The sender of retransmissions knows the loss and the round trip.
struct RetransmissionLatency {
    /// The loss from which the time for one request is added. At higher losses one answer in a thousand is lost too.
    private static let once = 0.008
    /// The loss from which the time for two requests is added.
    private static let twice = 0.035
    /// The time for which the value is kept after the loss, because losses recur.
    private static let memory = TimeSpan.seconds(30 as Int64)
    /// The weight of the newest value in the mean, which covers about five seconds.
    private static let weight = 0.1
    private static let fewestLooks = 4
    /// With fewer values the mean may be wrong by up to `doubt`. For example, 2 % of a few hundred packets may appear
    /// as 5 %.
    private static let unsureLooks = 16
    private static let doubt = 0.03
    /// The time that the first answer may be late. A browser repeats a request every 100 ms, whatever the round-trip time
    /// is, so a packet that is lost three times arrives late. With 20 ms, two of five minutes at 2 % loss had a freeze.
    private static let firstGrace = TimeSpan.milliseconds(35)
    /// The additional time that the second answer may be late.
    private static let secondGrace = TimeSpan.milliseconds(5)

    private var mean = 0.0
    private var looks = 0
    private var requests: Int64 = 0
    private var until: Instant?

    /// Updates the mean by the loss since the last call: the share of packets lost on the hop, 0...1.
    mutating func observe(_ loss: Double, at now: Instant) {
        looks = min(looks + 1, 1_000)
        mean += (loss - mean) * max(Self.weight, 1 / Double(looks))
        guard looks >= Self.fewestLooks else { return }
        let missing = Double(max(Self.unsureLooks - looks, 0)) / Double(Self.unsureLooks - Self.fewestLooks)
        let needed: Int64 = mean >= Self.twice + Self.doubt * missing ? 2 : mean >= Self.once ? 1 : 0
        // A high value that was based on few values is dropped as soon as enough values contradict it.
        let isCorrected = looks == Self.unsureLooks && needed < requests
        if needed >= requests, needed > 0 {
            requests = needed
            until = now + Self.memory
        } else if let until, now >= until || isCorrected {
            requests = needed
            self.until = needed > 0 ? now + Self.memory : nil
        }
    }

    /// Whether the loss is so high that even answers to requests are lost.
    var losesAnswers: Bool { requests > 1 }

    /// Returns the time for which frames should be held, for a round trip over the hop.
    func delay(roundTrip: TimeSpan) -> TimeSpan {
        guard requests > 0 else { return .zero }
        return NACKRequester.interval(roundTrip: roundTrip) * requests + Self.firstGrace
            + Self.secondGrace * (requests - 1)
    }
}

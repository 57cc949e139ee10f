/// Losses that come in bursts: a chain of a good and a bad state (Gilbert 1960, Elliott 1963), which takes a step with
/// each packet.
public struct GilbertElliott: Hashable, Sendable {
    /// The probability that the good state is left, and the bad one.
    public let toBad, toGood: Double
    /// The share that is lost in either state.
    public let lossInGood, lossInBad: Double

    public init(toBad: Double, toGood: Double, lossInGood: Double = 0, lossInBad: Double = 1) {
        self.toBad = toBad
        self.toGood = toGood
        self.lossInGood = lossInGood
        self.lossInBad = lossInBad
    }

    /// So that `share` of all packets is lost, in bursts of `length` packets on average, with nothing lost between.
    public init(share: Double, length: Double) {
        precondition(share >= 0 && share < 1 && length >= 1)
        // A burst lasts 1 / toGood packets; the bad state holds toBad / (toBad + toGood) of the time.
        let toGood = 1 / length
        self.init(toBad: min(1, toGood * share / (1 - share)), toGood: toGood)
    }

    /// The share that is lost in the long run, 0 to 1.
    public var share: Double {
        guard toBad + toGood > 0 else { return lossInGood }
        let bad = toBad / (toBad + toGood)
        return bad * lossInBad + (1 - bad) * lossInGood
    }
}

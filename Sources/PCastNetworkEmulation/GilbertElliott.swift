/// The model of bursty loss: a Markov chain of a good and a bad state (Gilbert 1960, Elliott 1963), with a step for
/// each packet.
package struct GilbertElliott: Hashable, Sendable {
    /// The probabilities of a change from the good to the bad state, and from the bad to the good one.
    package let toBad, toGood: Double
    /// The loss rates in the two states, from 0 to 1.
    package let lossInGood, lossInBad: Double

    /// Creates a model from its probabilities, all from 0 to 1.
    package init(toBad: Double, toGood: Double, lossInGood: Double = 0, lossInBad: Double = 1) {
        self.toBad = toBad
        self.toGood = toGood
        self.lossInGood = lossInGood
        self.lossInBad = lossInBad
    }

    /// Creates a model with a loss rate of `share` and bursts of `length` packets on average. No packet is lost between
    /// bursts. Traps if `share` is not in the range from 0 to below 1, or if `length` is less than 1.
    package init(share: Double, length: Double) {
        precondition(share >= 0 && share < 1 && length >= 1)
        // A burst has 1 / toGood packets on average. The share of the bad state is toBad / (toBad + toGood).
        let toGood = 1 / length
        self.init(toBad: min(1, toGood * share / (1 - share)), toGood: toGood)
    }

    /// The average loss rate, from 0 to 1.
    package var share: Double {
        guard toBad + toGood > 0 else { return lossInGood }
        let bad = toBad / (toBad + toGood)
        return bad * lossInBad + (1 - bad) * lossInGood
    }
}

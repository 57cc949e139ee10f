/// The model of packet loss on a link.
package enum Loss: Hashable, Sendable {
    case none
    /// Each packet is lost independently with this probability.
    case random(Double)
    case bursts(GilbertElliott)

    /// The average loss rate, from 0 to 1.
    package var share: Double {
        switch self {
        case .none: 0
        case .random(let share): share
        case .bursts(let model): model.share
        }
    }
}

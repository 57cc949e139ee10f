/// Which packets vanish on a link.
public enum Loss: Hashable, Sendable {
    case none
    /// Each by itself, with this probability.
    case random(Double)
    case bursts(GilbertElliott)

    /// The share that is lost in the long run, 0 to 1.
    public var share: Double {
        switch self {
        case .none: 0
        case .random(let share): share
        case .bursts(let model): model.share
        }
    }
}

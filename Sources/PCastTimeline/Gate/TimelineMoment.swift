public import PCastCore

/// Up to where a viewer may know what happened.
public enum TimelineMoment: Hashable, Sendable {
    /// Nothing tells where in the programme it is: nothing may be known.
    case nowhere
    /// The picture of this moment is seen.
    case at(WallTime)
    /// Everything, as soon as it is known.
    case everything

    func hasReached(_ gate: WallTime) -> Bool {
        switch self {
        case .nowhere: false
        case .at(let moment): moment >= gate
        case .everything: true
        }
    }
}

extension TimelineMoment: Comparable {
    public static func < (left: TimelineMoment, right: TimelineMoment) -> Bool {
        switch (left, right) {
        case (.at(let left), .at(let right)): left < right
        case (.nowhere, .nowhere), (.everything, _): false
        case (.nowhere, _), (_, .everything): true
        case (_, .nowhere): false
        }
    }
}

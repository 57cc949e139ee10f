package import PCastCore

/// The position of a viewer in the program, up to which revisions may be delivered.
package enum TimelinePosition: Hashable, Sendable {
    /// The position is unknown. Nothing may be delivered.
    case nowhere
    /// The viewer sees the frame of this time.
    case at(WallTime)
    /// There is no gate. Each revision is delivered as soon as it is known.
    case everything

    /// Returns whether the position is at or after a gate.
    func hasReached(_ gate: WallTime) -> Bool {
        switch self {
        case .nowhere: false
        case .at(let moment): moment >= gate
        case .everything: true
        }
    }
}

extension TimelinePosition: Comparable {
    /// Returns whether the left position is before the right one.
    package static func < (left: TimelinePosition, right: TimelinePosition) -> Bool {
        switch (left, right) {
        case (.at(let left), .at(let right)): left < right
        case (.nowhere, .nowhere), (.everything, _): false
        case (.nowhere, _), (_, .everything): true
        case (_, .nowhere): false
        }
    }
}

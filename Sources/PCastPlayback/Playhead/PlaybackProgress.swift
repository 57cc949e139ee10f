public import PCastCore

/// How far an item was played: before its beginning, at a position, or through its end.
///
/// Progress begins before everything and ends behind everything, so that what lies at the very beginning and at the very
/// end is passed as well.
public enum PlaybackProgress: Hashable, Sendable {
    case beforeBeginning
    case at(TimeSpan)
    case behindEnd

    /// In seconds, infinite at both ends.
    public var seconds: Double {
        switch self {
        case .beforeBeginning: -.infinity
        case .at(let position): position.seconds
        case .behindEnd: .infinity
        }
    }
}

extension PlaybackProgress: Comparable {
    public static func < (left: PlaybackProgress, right: PlaybackProgress) -> Bool {
        switch (left, right) {
        case (.at(let left), .at(let right)): left < right
        case (.beforeBeginning, .beforeBeginning), (.behindEnd, .behindEnd): false
        case (.beforeBeginning, _), (_, .behindEnd): true
        case (_, .beforeBeginning), (.behindEnd, _): false
        }
    }
}

import PCastCore

/// The progress of playback in an item: before its beginning, at a position, or after its end.
///
/// A session begins before the beginning and ends after the end, so it also passes cue points at both ends.
public enum PlaybackProgress: Hashable, Sendable {
    /// Playback has not begun.
    case beforeBeginning
    /// Playback is at a position of the item.
    case at(Duration)
    /// The item was played to its end.
    case afterEnd

    /// The progress in seconds: negative infinity before the beginning, and infinity after the end.
    package var seconds: Double {
        switch self {
        case .beforeBeginning: -.infinity
        case .at(let position): position.seconds
        case .afterEnd: .infinity
        }
    }
}

extension PlaybackProgress: Comparable {
    /// Whether `left` is earlier in the item than `right`.
    public static func < (left: PlaybackProgress, right: PlaybackProgress) -> Bool {
        switch (left, right) {
        case (.at(let left), .at(let right)): left < right
        case (.beforeBeginning, .beforeBeginning), (.afterEnd, .afterEnd): false
        case (.beforeBeginning, _), (_, .afterEnd): true
        case (_, .beforeBeginning), (.afterEnd, _): false
        }
    }
}

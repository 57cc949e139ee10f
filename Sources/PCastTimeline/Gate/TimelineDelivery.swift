public import PCastCore

/// What a viewer is told: that something happened, is otherwise than was told before, or is not so.
public struct TimelineDelivery: Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        case info(GameInfo)
        /// As it is now; of one that is withdrawn, as it was told last.
        case event(TimelineEventID, GameEvent)
    }

    /// Why something is told that the feed did not say just then.
    public enum Reason: String, Hashable, Sendable {
        /// The viewer went back to before it was known.
        case seek
    }

    public var subject: Subject
    public var type: TimelineChangeType
    /// Nil for what happened in the game's own order.
    public var reason: Reason?
    /// The revision that says so; of what is taken back because of a seek, the one that was told.
    public var number: SequenceNumber
    /// When it happened.
    public var at: WallTime
    /// From which moment of the programme on it may be known.
    public var gate: WallTime

    public var event: GameEvent? { if case .event(_, let event) = subject { event } else { nil } }

    public var eventID: TimelineEventID? { if case .event(let id, _) = subject { id } else { nil } }

    public var info: GameInfo? { if case .info(let info) = subject { info } else { nil } }
}

/// What became of an event (seed 002's `ChangeType`, by its words).
public enum TimelineChangeType: String, Hashable, Sendable, CaseIterable {
    case added
    case modified
    case deleted
    /// Of the game as a whole, which comes without.
    case unknown
}

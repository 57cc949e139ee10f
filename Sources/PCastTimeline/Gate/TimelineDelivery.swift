public import PCastCore

/// A notification of a viewer: an event or description is added, modified or deleted.
public struct TimelineDelivery: Hashable, Sendable {
    /// The subject of a delivery.
    public enum Subject: Hashable, Sendable {
        /// The description of the game.
        case info(GameInfo)
        /// The event as it is now, or as it was last delivered if it is deleted.
        case event(TimelineEventID, GameEvent)
    }

    /// The reason for a delivery that the feed did not cause.
    public enum Reason: String, Hashable, Sendable {
        /// The viewer has sought back to before the revision was known.
        case seek
    }

    /// The subject of the delivery.
    public var subject: Subject
    /// The change of the subject.
    public var type: TimelineChangeType
    /// The reason; nil for a delivery in the order of the game.
    public var reason: Reason?
    /// The number of the revision that is delivered, or that a seek withdraws.
    public var number: SequenceNumber
    /// The time at which the event happened.
    public var at: WallTime
    /// The time of the program from which the revision may be delivered.
    public var gate: WallTime

    /// The event; nil for a description of the game.
    public var event: GameEvent? { if case .event(_, let event) = subject { event } else { nil } }

    /// The ID of the event; nil for a description of the game.
    public var eventID: TimelineEventID? { if case .event(let id, _) = subject { id } else { nil } }

    /// The description of the game; nil for an event.
    public var info: GameInfo? { if case .info(let info) = subject { info } else { nil } }
}

/// The change of an event (Quickplay: `ChangeType`, with the same words).
public enum TimelineChangeType: String, Hashable, Sendable, CaseIterable {
    /// The event is new.
    case added
    /// The event has changed.
    case modified
    /// The event was withdrawn.
    case deleted
    /// The change is of the description of the game, which has no type.
    case unknown
}

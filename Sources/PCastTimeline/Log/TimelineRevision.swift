public import PCastCore

/// A change of a timeline, as it is recorded in the log.
public struct TimelineRevision: Hashable, Sendable {
    /// The recorded change.
    public enum Change: Hashable, Sendable {
        /// The game has another description.
        case info(GameInfo)
        /// An event was added.
        case added(TimelineEventID, GameEvent)
        /// An event was modified.
        case modified(TimelineEventID, GameEvent)
        /// An event was deleted.
        case deleted(TimelineEventID)
    }

    /// The number of the revision in its log.
    public var number: SequenceNumber
    /// The time at which the event happened.
    public var at: WallTime
    /// The time of recording in the feed.
    public var recordedAt: WallTime
    /// The recorded change.
    public var change: Change

    /// Creates a revision.
    public init(number: SequenceNumber, at: WallTime, recordedAt: WallTime, change: Change) {
        (self.number, self.at, self.recordedAt, self.change) = (number, at, recordedAt, change)
    }

    /// The ID of the event; nil for a description of the game.
    public var eventID: TimelineEventID? {
        switch change {
        case .info: nil
        case .added(let id, _), .modified(let id, _), .deleted(let id): id
        }
    }

    /// The event after the change; nil if it was deleted, and for a description of the game.
    public var event: GameEvent? {
        switch change {
        case .added(_, let event), .modified(_, let event): event
        case .info, .deleted: nil
        }
    }

    /// The description of the game; nil for an event.
    public var info: GameInfo? { if case .info(let info) = change { info } else { nil } }
}

public import PCastCore

/// One change of a timeline.
public struct TimelineRevision: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        case info(GameInfo)
        case added(TimelineEventID, GameEvent)
        case modified(TimelineEventID, GameEvent)
        case deleted(TimelineEventID)
    }

    public var number: SequenceNumber
    /// When what it tells of happened: the event's own time.
    public var at: WallTime
    /// When the feed had it.
    public var recordedAt: WallTime
    public var change: Change

    public init(number: SequenceNumber, at: WallTime, recordedAt: WallTime, change: Change) {
        (self.number, self.at, self.recordedAt, self.change) = (number, at, recordedAt, change)
    }

    /// The event that it is of; nil for the game.
    public var eventID: TimelineEventID? {
        switch change {
        case .info: nil
        case .added(let id, _), .modified(let id, _), .deleted(let id): id
        }
    }

    /// The event as it was from then on; nil when it was withdrawn, and for the game.
    public var event: GameEvent? {
        switch change {
        case .added(_, let event), .modified(_, let event): event
        case .info, .deleted: nil
        }
    }

    public var info: GameInfo? { if case .info(let info) = change { info } else { nil } }
}

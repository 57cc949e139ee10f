package import PCastCore
package import PCastJSON

/// The game of a timeline. Names are case-sensitive.
public struct TimelineGame: Hashable, Sendable, CustomStringConvertible {
    /// The name of the league.
    public let league: String
    /// The name of the game.
    public let game: String

    /// Creates a game. Throws ``TimelineError/badName(_:limit:)`` if a name is empty or too long.
    public init(league: String, game: String, within limits: TimelineLimits = .standard) throws(TimelineError) {
        for (what, name) in [("the league", league), ("the game", game)] {
            guard (1...limits.gameName).contains(name.utf8.count) else {
                throw .badName(what, limit: limits.gameName)
            }
        }
        (self.league, self.game) = (league, game)
    }

    /// The names of the league and the game, separated by a slash.
    public var description: String { "\(league)/\(game)" }
}

/// The ID of an event in its feed.
public struct TimelineEventID: Hashable, Sendable, CustomStringConvertible {
    /// The ID as text.
    public let description: String

    /// Creates an ID. Throws ``TimelineError/badName(_:limit:)`` if it is empty or too long.
    public init(_ text: String, within limits: TimelineLimits = .standard) throws(TimelineError) {
        guard (1...limits.name).contains(text.utf8.count) else { throw .badName("the event", limit: limits.name) }
        description = text
    }
}

/// The ID of a game's log. Sequence numbers of another log are not comparable.
public struct TimelineLogID: Hashable, Sendable, CustomStringConvertible {
    /// The ID as text.
    public let description: String

    /// Creates an ID from text.
    public init(_ text: String) { description = text }
}

/// The sequence number of a revision in its log. The first revision has 1; 0 is before all revisions.
public struct SequenceNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number.
    public let value: Int

    /// Creates a sequence number.
    public init(_ value: Int) { self.value = value }

    /// The number before all revisions.
    public static let none = SequenceNumber(0)

    /// The next number.
    public var next: SequenceNumber { SequenceNumber(value + 1) }

    /// The number as text.
    public var description: String { "\(value)" }

    /// Returns whether the left number is less than the right one.
    public static func < (left: SequenceNumber, right: SequenceNumber) -> Bool { left.value < right.value }
}

/// A request of a producer to change a timeline.
package struct TimelineRequest: Hashable, Sendable {
    /// The requested change.
    package enum Change: Hashable, Sendable {
        /// Sets the description of the game.
        case info(GameInfo)
        /// Adds an event or replaces it as a whole.
        case put(TimelineEventID, GameEvent)
        /// Changes some fields of an event by a JSON merge patch (RFC 7396).
        case patch(TimelineEventID, JSONObject)
        /// Deletes an event.
        case delete(TimelineEventID)
    }

    /// The requested change.
    package var change: Change
    /// The time of recording in the feed, for the import of a past game; nil for the present.
    package var recordedAt: WallTime?

    /// Creates a request.
    package init(_ change: Change, recordedAt: WallTime? = nil) {
        (self.change, self.recordedAt) = (change, recordedAt)
    }

    /// Parses a JSON merge patch and returns the change. Throws ``TimelineError`` if it is not JSON or exceeds the
    /// limits.
    package static func patch(
        _ id: TimelineEventID, parsing bytes: [UInt8], within limits: TimelineLimits = .standard
    ) throws(TimelineError) -> Change {
        .patch(id, try JSONObject(parsing: bytes, within: limits))
    }
}

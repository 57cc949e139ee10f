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

/// Which game a timeline is of. Capitals count.
public struct TimelineGame: Hashable, Sendable, CustomStringConvertible {
    public let league: String
    public let game: String

    /// - Throws: `TimelineError.badName`.
    public init(league: String, game: String, within limits: TimelineLimits = .standard) throws(TimelineError) {
        for (what, name) in [("the league", league), ("the game", game)] {
            guard (1...limits.gameName).contains(name.utf8.count) else {
                throw .badName(what, limit: limits.gameName)
            }
        }
        (self.league, self.game) = (league, game)
    }

    public var description: String { "\(league)/\(game)" }
}

/// An event of a game, as its feed names it.
public struct TimelineEventID: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// - Throws: `TimelineError.badName`.
    public init(_ text: String, within limits: TimelineLimits = .standard) throws(TimelineError) {
        guard (1...limits.name).contains(text.utf8.count) else { throw .badName("the event", limit: limits.name) }
        description = text
    }
}

/// One writing of a game's log. Numbers of revisions mean nothing in another one.
public struct TimelineLogID: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ text: String) { description = text }
}

/// The place of a revision in its log. The first has 1; 0 is before all.
public struct SequenceNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let value: Int

    public init(_ value: Int) { self.value = value }

    public static let none = SequenceNumber(0)

    public var next: SequenceNumber { SequenceNumber(value + 1) }

    public var description: String { "\(value)" }

    public static func < (left: SequenceNumber, right: SequenceNumber) -> Bool { left.value < right.value }
}

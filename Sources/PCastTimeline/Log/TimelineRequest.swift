package import PCastCore
package import PCastJSON

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

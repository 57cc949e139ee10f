public import PCastCore
public import PCastJSON

/// What a producer asks for.
public struct TimelineRequest: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        case info(GameInfo)
        /// The whole event, new or in place of what it was.
        case put(TimelineEventID, GameEvent)
        /// Some fields of an event (RFC 7396).
        case patch(TimelineEventID, JSONObject)
        case delete(TimelineEventID)
    }

    public var change: Change
    /// When the feed had it, for who brings in a past game; nil for now.
    public var recordedAt: WallTime?

    public init(_ change: Change, recordedAt: WallTime? = nil) { (self.change, self.recordedAt) = (change, recordedAt) }

    /// Reads a patch.
    ///
    /// - Throws: `TimelineError` for what is too much, or no JSON.
    public static func patch(
        _ id: TimelineEventID, parsing bytes: [UInt8], within limits: TimelineLimits = .standard
    ) throws(TimelineError) -> Change {
        .patch(id, try JSONObject(parsing: bytes, within: limits))
    }
}

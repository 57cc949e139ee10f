/// What a timeline tells of (seed 002). More may be added.
public struct StreamTimelineEvent: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// What the game is.
    public static let gameInfo = StreamTimelineEvent(rawValue: "gameInfo")
    /// Something that happened in it.
    public static let gameEvent = StreamTimelineEvent(rawValue: "gameEvent")
}

/// What playback is suggested to do about it (seed 002's `Action`).
public enum SuggestedAction: String, Hashable, Sendable, CaseIterable {
    /// Nothing.
    case none
}

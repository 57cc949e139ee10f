/// The subject of a timeline event (Quickplay's `StreamTimelineEvent`). Later versions may add others.
public struct StreamTimelineEvent: RawRepresentable, Hashable, Sendable {
    /// The name of the subject.
    public let rawValue: String

    /// Creates a subject by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Information about the game, such as its teams and its venue.
    public static let gameInfo = StreamTimelineEvent(rawValue: "gameInfo")
    /// An event in the game.
    public static let gameEvent = StreamTimelineEvent(rawValue: "gameEvent")
}

/// The suggested action of playback for a timeline event (Quickplay's `Action`).
public enum SuggestedAction: String, Hashable, Sendable, CaseIterable {
    /// No action.
    case none
}

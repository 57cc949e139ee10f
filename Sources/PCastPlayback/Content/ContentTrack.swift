/// A video, audio or subtitle track that can be selected.
public struct ContentTrack: Hashable, Sendable, Identifiable {
    /// The kind of a track.
    public enum Kind: String, Hashable, Sendable, CaseIterable { case video, audio, subtitles }

    /// The ID of a track, which is valid while the item is open.
    public struct ID: Hashable, Sendable, RawRepresentable {
        /// The text of the ID.
        public var rawValue: String

        /// Creates an ID from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The ID.
    public var id: ID
    /// The kind.
    public var kind: Kind
    /// The name from the media; may be empty.
    public var name: String
    /// The language tag (BCP 47); nil if unknown.
    public var language: String?

    /// Creates a track.
    public init(id: ID, kind: Kind, name: String = "", language: String? = nil) {
        (self.id, self.kind, self.name, self.language) = (id, kind, name, language)
    }
}

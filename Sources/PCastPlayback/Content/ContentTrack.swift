/// Pictures, sound or text of an item that can be chosen.
public struct ContentTrack: Hashable, Sendable, Identifiable {
    public enum Kind: String, Hashable, Sendable, CaseIterable { case video, audio, subtitles }

    /// The same as long as the item is open.
    public struct ID: Hashable, Sendable, RawRepresentable {
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public var id: ID
    public var kind: Kind
    /// As the media call it; may be empty.
    public var name: String
    /// BCP 47; nil when nobody says.
    public var language: String?

    public init(id: ID, kind: Kind, name: String = "", language: String? = nil) {
        (self.id, self.kind, self.name, self.language) = (id, kind, name, language)
    }
}

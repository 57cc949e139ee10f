/// Redirects the player's requests for playlists (Phenix: `PhenixStreamingSourceMapping`).
public struct StreamingSourceMapping: Hashable, Sendable {
    /// A regular expression; its first match in an address is replaced.
    public var patternToReplace: String
    /// What stands in its place, as it is.
    public var replacement: String

    public init(patternToReplace: String, replacement: String) {
        self.patternToReplace = patternToReplace
        self.replacement = replacement
    }
}

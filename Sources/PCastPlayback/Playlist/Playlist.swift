public import PCastJSON

/// Videos in the order in which they are played. A value (Brightcove's `BCOVPlaylist`).
public struct Playlist: Hashable, Sendable {
    public var videos: [Video]
    public var properties: [String: JSONValue]

    public init(_ videos: [Video], properties: [String: JSONValue] = [:]) {
        (self.videos, self.properties) = (videos, properties)
    }

    /// Those that have a source.
    public var playableVideos: [Video] { videos.filter { !$0.sources.isEmpty } }
}

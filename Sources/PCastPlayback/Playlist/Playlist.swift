public import PCastJSON

/// An ordered list of videos (Brightcove's `BCOVPlaylist`). Playlists with equal properties are equal.
public struct Playlist: Hashable, Sendable {
    /// The videos in the order in which they are played.
    public var videos: [Video]
    /// The application-defined properties.
    public var properties: [String: JSONValue]

    /// Creates a playlist.
    public init(_ videos: [Video], properties: [String: JSONValue] = [:]) {
        (self.videos, self.properties) = (videos, properties)
    }

    /// The videos that have a source.
    public var playableVideos: [Video] { videos.filter { !$0.sources.isEmpty } }
}

public import PCastJSON

/// An item to play, with its sources, cue points and properties (VideoKit's `Video`, Brightcove's `BCOVVideo`). Videos
/// with equal properties are equal.
public struct Video: Hashable, Sendable {
    /// The alternative sources of the media.
    public var sources: [Source]
    /// The cue points.
    public var cuePoints: CuePointCollection
    /// The application-defined properties.
    public var properties: [String: JSONValue]

    /// Creates a video with several alternative sources.
    public init(
        sources: [Source], cuePoints: CuePointCollection = CuePointCollection(), properties: [String: JSONValue] = [:]
    ) {
        (self.sources, self.cuePoints, self.properties) = (sources, cuePoints, properties)
    }

    /// Creates a video with one source. A nil `wallClock` uses the times in the media.
    public init(
        _ address: String, cuePoints: [CuePoint] = [], properties: [String: JSONValue] = [:],
        wallClock: WallClockMapping? = nil
    ) {
        self.init(
            sources: [Source(address, wallClock: wallClock)], cuePoints: CuePointCollection(cuePoints),
            properties: properties)
    }

    /// The source to play: the first with HLS over https, otherwise with HLS, otherwise with MP4, otherwise the first;
    /// nil if there are none.
    public var preferredSource: Source? {
        sources.first { $0.deliveryMethod == .hls && $0.isEncrypted }
            ?? sources.first { $0.deliveryMethod == .hls }
            ?? sources.first { $0.deliveryMethod == .mp4 }
            ?? sources.first
    }
}

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

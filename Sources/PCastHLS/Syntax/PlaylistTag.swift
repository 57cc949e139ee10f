/// The known tags; others are ignored (RFC 8216, section 6.3.1).
enum PlaylistTag: String {
    // Tags of both kinds of playlist.
    case version = "EXT-X-VERSION"
    case independentSegments = "EXT-X-INDEPENDENT-SEGMENTS"
    case start = "EXT-X-START"
    case define = "EXT-X-DEFINE"
    // Tags of media playlists.
    case targetDuration = "EXT-X-TARGETDURATION"
    case mediaSequence = "EXT-X-MEDIA-SEQUENCE"
    case discontinuitySequence = "EXT-X-DISCONTINUITY-SEQUENCE"
    case endList = "EXT-X-ENDLIST"
    case playlistType = "EXT-X-PLAYLIST-TYPE"
    case iFramesOnly = "EXT-X-I-FRAMES-ONLY"
    case partInformation = "EXT-X-PART-INF"
    case serverControl = "EXT-X-SERVER-CONTROL"
    case segment = "EXTINF"
    case byteRange = "EXT-X-BYTERANGE"
    case discontinuity = "EXT-X-DISCONTINUITY"
    case key = "EXT-X-KEY"
    case map = "EXT-X-MAP"
    case programDateTime = "EXT-X-PROGRAM-DATE-TIME"
    case gap = "EXT-X-GAP"
    case bitrate = "EXT-X-BITRATE"
    case part = "EXT-X-PART"
    case dateRange = "EXT-X-DATERANGE"
    case skip = "EXT-X-SKIP"
    case preloadHint = "EXT-X-PRELOAD-HINT"
    case renditionReport = "EXT-X-RENDITION-REPORT"
    // Tags of multivariant playlists.
    case media = "EXT-X-MEDIA"
    case streamInformation = "EXT-X-STREAM-INF"
    case iFrameStreamInformation = "EXT-X-I-FRAME-STREAM-INF"
    case sessionData = "EXT-X-SESSION-DATA"
    case sessionKey = "EXT-X-SESSION-KEY"
    case contentSteering = "EXT-X-CONTENT-STEERING"

    /// The kinds of playlist that may contain a tag.
    enum AllowedPlaylist { case anywhere, media, multivariant }

    /// The kind of playlist that may contain the tag.
    var allowedPlaylist: AllowedPlaylist {
        switch self {
        case .version, .independentSegments, .start, .define: .anywhere
        case .media, .streamInformation, .iFrameStreamInformation, .sessionData, .sessionKey, .contentSteering:
            .multivariant
        default: .media
        }
    }
}

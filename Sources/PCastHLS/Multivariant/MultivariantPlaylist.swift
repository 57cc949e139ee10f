/// A list of variant streams and renditions, each of which has its own media playlist (RFC 8216, section 4.3.4;
/// draft-pantos-hls-rfc8216bis-20, section 4.4.6).
package struct MultivariantPlaylist: Hashable, Sendable {
    /// The protocol version (`EXT-X-VERSION`); 1 if the tag is missing.
    package var version: Int
    /// Whether each segment of each media playlist can be decoded without another (`EXT-X-INDEPENDENT-SEGMENTS`).
    package var hasIndependentSegments: Bool
    /// The start point for media playlists that do not have their own (`EXT-X-START`); nil if the tag is missing.
    package var start: StartPoint?
    /// The defined variables, which the media playlists may import.
    package var variables: [PlaylistVariable]
    /// The variant streams, in the order of the playlist.
    package var variants: [VariantStream]
    /// The variants that contain only I-frames, for fast forward and rewind (`EXT-X-I-FRAME-STREAM-INF`).
    package var iFrameVariants: [VariantStream]
    /// The renditions of all groups, in the order of the playlist.
    package var renditions: [Rendition]
    /// The session data, in the order of the playlist.
    package var sessionData: [SessionData]
    /// The keys that a client may load before any media playlist (`EXT-X-SESSION-KEY`).
    package var sessionKeys: [EncryptionKey]
    /// The steering server; nil if the playlist has no content steering.
    package var contentSteering: ContentSteering?

    /// Creates a playlist. A playlist that clients accept has at least one variant.
    package init(
        version: Int = 1, hasIndependentSegments: Bool = false, start: StartPoint? = nil,
        variables: [PlaylistVariable] = [], variants: [VariantStream] = [], iFrameVariants: [VariantStream] = [],
        renditions: [Rendition] = [], sessionData: [SessionData] = [], sessionKeys: [EncryptionKey] = [],
        contentSteering: ContentSteering? = nil
    ) {
        self.version = version
        self.hasIndependentSegments = hasIndependentSegments
        self.start = start
        self.variables = variables
        self.variants = variants
        self.iFrameVariants = iFrameVariants
        self.renditions = renditions
        self.sessionData = sessionData
        self.sessionKeys = sessionKeys
        self.contentSteering = contentSteering
    }

    /// Parses a playlist.
    ///
    /// - Parameters:
    ///   - text: The playlist.
    ///   - uri: The URI of the playlist after redirects. `EXT-X-DEFINE:QUERYPARAM` reads its query.
    /// - Throws: ``PlaylistError`` if the text is not a valid multivariant playlist.
    package init(_ text: String, from uri: String = "") throws(PlaylistError) {
        var parser = MultivariantPlaylistParser(from: uri)
        self = try parser.parse(text)
    }

    /// Returns the renditions of one kind in one group, in the order of the playlist; none if `group` is nil.
    package func renditions(_ kind: Rendition.Kind, in group: String?) -> [Rendition] {
        renditions.filter { $0.kind == kind && $0.group == group }
    }
}

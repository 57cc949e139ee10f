/// A list of variants and renditions, each with a media playlist of its own (RFC 8216, section 4.3.4;
/// draft-pantos-hls-rfc8216bis-20, section 4.4.6).
public struct MultivariantPlaylist: Hashable, Sendable {
    /// As it says; 1 where it says nothing.
    public var version: Int
    /// Each segment of each playlist can be decoded without another.
    public var hasIndependentSegments: Bool
    /// For each playlist that says nothing itself.
    public var start: StartPoint?
    /// What its media playlists may import.
    public var variables: [PlaylistVariable]
    public var variants: [VariantStream]
    /// Pictures that stand alone, for moving through the presentation fast.
    public var iFrameVariants: [VariantStream]
    public var renditions: [Rendition]
    public var sessionData: [SessionData]
    /// Keys that can be had before a media playlist is.
    public var sessionKeys: [EncryptionKey]
    public var contentSteering: ContentSteering?

    public init(
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

    /// - Parameters:
    ///   - text: The playlist.
    ///   - uri: Where it came from, after redirections.
    public init(_ text: String, from uri: String = "") throws(PlaylistError) {
        var parser = MultivariantPlaylistParser(from: uri)
        self = try parser.parse(text)
    }

    /// The renditions of one kind in one group, in their order.
    public func renditions(_ kind: Rendition.Kind, in group: String?) -> [Rendition] {
        renditions.filter { $0.kind == kind && $0.group == group }
    }
}

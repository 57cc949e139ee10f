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

extension MultivariantPlaylist {
    /// The playlist as text, which parses to an equal value if no value contains characters that a line or quoted
    /// string cannot hold. Such characters are left out.
    package var text: String {
        var writer = PlaylistWriter()
        writer.tag(.version, String(version))
        for variable in variables { writer.write(variable) }
        writer.flag(.independentSegments, if: hasIndependentSegments)
        if let start { writer.tag(.start, start.attributes) }
        if let contentSteering { writer.tag(.contentSteering, contentSteering.attributes) }
        for data in sessionData { writer.tag(.sessionData, data.attributes) }
        for key in sessionKeys { writer.tag(.sessionKey, key.attributes) }
        for rendition in renditions { writer.tag(.media, rendition.attributes) }
        for variant in variants {
            writer.tag(.streamInformation, variant.attributes)
            writer.uri(variant.uri)
        }
        for variant in iFrameVariants {
            var attributes = variant.attributes
            attributes.quoted("URI", variant.uri)
            writer.tag(.iFrameStreamInformation, attributes)
        }
        return writer.text
    }
}

/// The steering server that chooses among pathways (`EXT-X-CONTENT-STEERING`; RFC 8216bis, section 4.4.6.6).
package struct ContentSteering: Hashable, Sendable {
    /// The URI of the steering manifest, relative to the playlist.
    package var serverURI: String
    /// The pathway to use until the first steering manifest arrives; nil if the playlist does not name one.
    package var pathwayID: String?

    /// Creates a value from the URI of the steering manifest and the initial pathway.
    package init(serverURI: String, pathwayID: String? = nil) {
        self.serverURI = serverURI
        self.pathwayID = pathwayID
    }

    /// Reads the tag.
    ///
    /// - Parameter list: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `SERVER-URI` is missing.
    init(_ list: AttributeList) throws(PlaylistError) {
        serverURI = try list.required("SERVER-URI")
        pathwayID = list.string("PATHWAY-ID")
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("SERVER-URI", serverURI)
        writer.quoted("PATHWAY-ID", pathwayID)
        return writer
    }
}

/// Data of the author about the whole presentation (`EXT-X-SESSION-DATA`; RFC 8216, section 4.3.4.4).
package struct SessionData: Hashable, Sendable {
    /// The value, or a reference to it.
    package enum Content: Hashable, Sendable {
        /// A text (`VALUE`).
        case value(String)
        /// A resource (`URI`), which is JSON unless `isRaw`.
        case resource(uri: String, isRaw: Bool)
    }

    /// The name of the data, usually in reverse DNS form (`DATA-ID`).
    package var id: String
    /// The value, or a reference to it.
    package var content: Content
    /// The language tag (RFC 5646); nil if it is not specified.
    package var language: String?

    /// Creates session data.
    package init(id: String, _ content: Content, language: String? = nil) {
        self.id = id
        self.content = content
        self.language = language
    }

    /// Reads the tag.
    ///
    /// - Parameter list: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `DATA-ID` is missing, or both `VALUE` and `URI` are.
    init(_ list: AttributeList) throws(PlaylistError) {
        id = try list.required("DATA-ID")
        language = list.string("LANGUAGE")
        if let value = list.string("VALUE") {
            content = .value(value)
        } else {
            content = .resource(uri: try list.required("URI"), isRaw: list.string("FORMAT") == "RAW")
        }
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("DATA-ID", id)
        switch content {
        case .value(let value): writer.quoted("VALUE", value)
        case .resource(let uri, let isRaw):
            writer.quoted("URI", uri)
            writer.unquoted("FORMAT", isRaw ? "RAW" : nil)
        }
        writer.quoted("LANGUAGE", language)
        return writer
    }
}

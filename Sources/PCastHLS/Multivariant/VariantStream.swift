public import PCastMedia

/// One way to have the whole presentation (`EXT-X-STREAM-INF` and `EXT-X-I-FRAME-STREAM-INF`; RFC 8216, sections 4.3.4.2
/// and 4.3.4.3).
public struct VariantStream: Hashable, Sendable {
    public enum ClosedCaptions: Hashable, Sendable {
        case none
        case group(String)
    }

    public var uri: String
    /// The peak, with its renditions.
    public var bandwidth: Bitrate
    public var averageBandwidth: Bitrate?
    /// As RFC 6381 writes them.
    public var codecs: [String]
    public var supplementalCodecs: [String]
    public var resolution: Dimensions?
    public var framesPerSecond: Double?
    public var hdcpLevel: String?
    public var allowedCPC: String?
    /// `SDR`, `HLG` or `PQ`.
    public var videoRange: String?
    public var requiredVideoLayout: String?
    /// The author's order: the higher, the better.
    public var score: Double?
    public var stableID: String?
    /// Which pathway of content steering it belongs to.
    public var pathwayID: String?
    /// Groups of renditions.
    public var audio: String?
    public var video: String?
    public var subtitles: String?
    public var closedCaptions: ClosedCaptions?

    public init(
        uri: String, bandwidth: Bitrate, averageBandwidth: Bitrate? = nil, codecs: [String] = [],
        resolution: Dimensions? = nil, framesPerSecond: Double? = nil, audio: String? = nil, subtitles: String? = nil
    ) {
        self.uri = uri
        self.bandwidth = bandwidth
        self.averageBandwidth = averageBandwidth
        self.codecs = codecs
        supplementalCodecs = []
        self.resolution = resolution
        self.framesPerSecond = framesPerSecond
        self.audio = audio
        self.subtitles = subtitles
    }

    init(_ list: AttributeList, uri: String) throws(PlaylistError) {
        self.uri = uri
        bandwidth = Bitrate(bitsPerSecond: try list.required("BANDWIDTH", list.integer))
        averageBandwidth = try list.integer("AVERAGE-BANDWIDTH").map { Bitrate(bitsPerSecond: $0) }
        codecs = list.list("CODECS")
        supplementalCodecs = list.list("SUPPLEMENTAL-CODECS")
        resolution = try list.resolution("RESOLUTION")
        framesPerSecond = try list.fraction("FRAME-RATE")
        hdcpLevel = list.word("HDCP-LEVEL")
        allowedCPC = list.string("ALLOWED-CPC")
        videoRange = list.word("VIDEO-RANGE")
        requiredVideoLayout = list.string("REQ-VIDEO-LAYOUT")
        score = try list.fraction("SCORE")
        stableID = list.string("STABLE-VARIANT-ID")
        pathwayID = list.string("PATHWAY-ID")
        audio = list.string("AUDIO")
        video = list.string("VIDEO")
        subtitles = list.string("SUBTITLES")
        switch list["CLOSED-CAPTIONS"] {
        case .bare("NONE"): closedCaptions = ClosedCaptions.none
        case .bare(let group), .quoted(let group): closedCaptions = .group(group)
        case nil: closedCaptions = nil
        }
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.number("BANDWIDTH", bandwidth.bitsPerSecond)
        writer.number("AVERAGE-BANDWIDTH", averageBandwidth?.bitsPerSecond)
        writer.quoted("CODECS", codecs)
        writer.quoted("SUPPLEMENTAL-CODECS", supplementalCodecs)
        writer.bare("RESOLUTION", resolution?.description)
        writer.fraction("FRAME-RATE", framesPerSecond)
        writer.bare("HDCP-LEVEL", hdcpLevel)
        writer.quoted("ALLOWED-CPC", allowedCPC)
        writer.bare("VIDEO-RANGE", videoRange)
        writer.quoted("REQ-VIDEO-LAYOUT", requiredVideoLayout)
        writer.fraction("SCORE", score)
        writer.quoted("STABLE-VARIANT-ID", stableID)
        writer.quoted("PATHWAY-ID", pathwayID)
        writer.quoted("AUDIO", audio)
        writer.quoted("VIDEO", video)
        writer.quoted("SUBTITLES", subtitles)
        switch closedCaptions {
        case ClosedCaptions.none?: writer.bare("CLOSED-CAPTIONS", "NONE")
        case .group(let group)?: writer.quoted("CLOSED-CAPTIONS", group)
        case nil: break
        }
        return writer
    }
}

package import PCastCore

/// A version of the presentation with its own bit rate and quality (`EXT-X-STREAM-INF` and `EXT-X-I-FRAME-STREAM-INF`;
/// RFC 8216, sections 4.3.4.2 and 4.3.4.3).
package struct VariantStream: Hashable, Sendable {
    /// The value of the `CLOSED-CAPTIONS` attribute.
    package enum ClosedCaptions: Hashable, Sendable {
        /// No variant has closed captions.
        case none
        /// The group of renditions with closed captions.
        case group(String)
    }

    /// The URI of the media playlist, relative to the multivariant playlist.
    package var uri: String
    /// The peak segment bit rate, including renditions (`BANDWIDTH`).
    package var bandwidth: Bitrate
    /// The average segment bit rate, including renditions (`AVERAGE-BANDWIDTH`); nil if it is not specified.
    package var averageBandwidth: Bitrate?
    /// The codec strings (RFC 6381); empty if they are not specified.
    package var codecs: [String]
    /// The codec strings of backward-compatible enhancements (`SUPPLEMENTAL-CODECS`).
    package var supplementalCodecs: [String]
    /// The dimensions of the video in pixels; nil if they are not specified.
    package var resolution: Dimensions?
    /// The maximum frame rate in frames per second (`FRAME-RATE`); nil if it is not specified.
    package var framesPerSecond: Double?
    /// The HDCP level that the output must have; nil if it is not specified.
    package var hdcpLevel: String?
    /// The content protection configurations that may play the variant (`ALLOWED-CPC`); nil if it is not specified.
    package var allowedCPC: String?
    /// The dynamic range, `SDR`, `HLG` or `PQ`; nil if it is not specified.
    package var videoRange: String?
    /// The video layouts that the client must support, e.g. stereoscopic (`REQ-VIDEO-LAYOUT`); nil if it is not
    /// specified.
    package var requiredVideoLayout: String?
    /// The preference of the author, higher is better (`SCORE`); nil if it is not specified.
    package var score: Double?
    /// An identifier that is the same across playlists (`STABLE-VARIANT-ID`); nil if it is not specified.
    package var stableID: String?
    /// The content steering pathway of the variant (`PATHWAY-ID`); nil if it is not specified.
    package var pathwayID: String?
    /// The group of audio renditions; nil if the segments contain the audio.
    package var audio: String?
    /// The group of video renditions; nil if there is none.
    package var video: String?
    /// The group of subtitle renditions; nil if there is none.
    package var subtitles: String?
    /// The group of closed captions; nil if it is not specified.
    package var closedCaptions: ClosedCaptions?

    /// Creates a variant; properties without a parameter are nil or empty.
    package init(
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

    /// Reads the tag.
    ///
    /// - Parameters:
    ///   - list: The attributes of the tag.
    ///   - uri: The URI of the media playlist.
    /// - Throws: ``PlaylistError`` if `BANDWIDTH` is missing or a number cannot be read.
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
        case .unquoted("NONE"): closedCaptions = ClosedCaptions.none
        case .unquoted(let group), .quoted(let group): closedCaptions = .group(group)
        case nil: closedCaptions = nil
        }
    }

    /// The attributes of the tag, without `URI`.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.number("BANDWIDTH", bandwidth.bitsPerSecond)
        writer.number("AVERAGE-BANDWIDTH", averageBandwidth?.bitsPerSecond)
        writer.quoted("CODECS", codecs)
        writer.quoted("SUPPLEMENTAL-CODECS", supplementalCodecs)
        writer.unquoted("RESOLUTION", resolution?.description)
        writer.fraction("FRAME-RATE", framesPerSecond)
        writer.unquoted("HDCP-LEVEL", hdcpLevel)
        writer.quoted("ALLOWED-CPC", allowedCPC)
        writer.unquoted("VIDEO-RANGE", videoRange)
        writer.quoted("REQ-VIDEO-LAYOUT", requiredVideoLayout)
        writer.fraction("SCORE", score)
        writer.quoted("STABLE-VARIANT-ID", stableID)
        writer.quoted("PATHWAY-ID", pathwayID)
        writer.quoted("AUDIO", audio)
        writer.quoted("VIDEO", video)
        writer.quoted("SUBTITLES", subtitles)
        switch closedCaptions {
        case ClosedCaptions.none?: writer.unquoted("CLOSED-CAPTIONS", "NONE")
        case .group(let group)?: writer.quoted("CLOSED-CAPTIONS", group)
        case nil: break
        }
        return writer
    }
}

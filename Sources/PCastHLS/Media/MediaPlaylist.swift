public import PCastCore

/// A list of media segments (RFC 8216, section 4.3.3; draft-pantos-hls-rfc8216bis-20, section 4.4.3).
public struct MediaPlaylist: Hashable, Sendable {
    /// The value of `EXT-X-PLAYLIST-TYPE` (RFC 8216, section 4.3.3.5).
    public enum Kind: String, Hashable, Sendable {
        /// Segments are only added.
        case event = "EVENT"
        /// The playlist does not change.
        case onDemand = "VOD"
    }

    /// The protocol version (`EXT-X-VERSION`); 1 if the tag is missing.
    public var version: Int
    /// The upper bound of segment durations, in whole seconds (`EXT-X-TARGETDURATION`).
    ///
    /// A segment's duration, rounded to the nearest second, is not larger (RFC 8216, section 4.3.3.1).
    public var targetDuration: TimeSpan
    /// The upper bound of the durations of partial segments (`EXT-X-PART-INF`); nil if the playlist has none.
    public var partTargetDuration: TimeSpan?
    /// The media sequence number of the first segment (`EXT-X-MEDIA-SEQUENCE`); 0 if the tag is missing.
    public var mediaSequence: Int64
    /// The discontinuity sequence number of the first segment, without discontinuities that this playlist contains.
    public var discontinuitySequence: Int64
    /// The type of the playlist; nil for a sliding window.
    public var kind: Kind?
    /// Whether no segment will be added any more (`EXT-X-ENDLIST`).
    public var isComplete: Bool
    /// Whether each segment is a single I-frame (`EXT-X-I-FRAMES-ONLY`).
    public var isIFramesOnly: Bool
    /// Whether each segment can be decoded without another (`EXT-X-INDEPENDENT-SEGMENTS`).
    public var hasIndependentSegments: Bool
    /// The preferred point to start playback (`EXT-X-START`); nil if the tag is missing.
    public var start: StartPoint?
    /// The delivery directives that the server supports (`EXT-X-SERVER-CONTROL`).
    public var serverControl: ServerControl
    /// The complete segments. Their media sequence numbers are consecutive.
    public var segments: [MediaSegment]
    /// The segment of which only some parts, or only tags, are in the playlist yet; nil if there is none.
    public var openSegment: MediaSegment?
    /// The resources that the server will need to deliver soon (`EXT-X-PRELOAD-HINT`), at most 16.
    public var preloadHints: [PreloadHint]
    /// The last segments of the other renditions (`EXT-X-RENDITION-REPORT`).
    public var renditionReports: [RenditionReport]
    /// The date ranges, in the order of their first tags.
    public var dateRanges: [DateRange]
    /// The defined variables. All references to them in other values are already replaced.
    public var variables: [PlaylistVariable]

    /// Creates a playlist; the numbers of `segments` must be consecutive and begin with `mediaSequence`.
    public init(
        version: Int = 1, targetDuration: TimeSpan, partTargetDuration: TimeSpan? = nil, mediaSequence: Int64 = 0,
        discontinuitySequence: Int64 = 0, kind: Kind? = nil, isComplete: Bool = false, isIFramesOnly: Bool = false,
        hasIndependentSegments: Bool = false, start: StartPoint? = nil, serverControl: ServerControl = ServerControl(),
        segments: [MediaSegment] = [], openSegment: MediaSegment? = nil, preloadHints: [PreloadHint] = [],
        renditionReports: [RenditionReport] = [], dateRanges: [DateRange] = [], variables: [PlaylistVariable] = []
    ) {
        self.version = version
        self.targetDuration = targetDuration
        self.partTargetDuration = partTargetDuration
        self.mediaSequence = mediaSequence
        self.discontinuitySequence = discontinuitySequence
        self.kind = kind
        self.isComplete = isComplete
        self.isIFramesOnly = isIFramesOnly
        self.hasIndependentSegments = hasIndependentSegments
        self.start = start
        self.serverControl = serverControl
        self.segments = segments
        self.openSegment = openSegment
        self.preloadHints = preloadHints
        self.renditionReports = renditionReports
        self.dateRanges = dateRanges
        self.variables = variables
    }

    /// Parses a playlist or a delta update of one.
    ///
    /// - Parameters:
    ///   - text: The playlist.
    ///   - uri: The URI of the playlist after redirects. `EXT-X-DEFINE:QUERYPARAM` reads its query.
    ///   - variables: The variables of the multivariant playlist that refers to this one (`EXT-X-DEFINE:IMPORT`).
    ///   - earlier: The playlist to which a delta update is applied. The result is then the same as that of the whole
    ///     playlist.
    /// - Throws: ``PlaylistError/skippedSegmentsUnknown(first:count:)`` if `earlier` lacks segments that the update
    ///   skips; any other ``PlaylistError`` if the text is not a valid media playlist.
    public init(
        _ text: String, from uri: String = "", importing variables: [PlaylistVariable] = [],
        updating earlier: MediaPlaylist? = nil
    ) throws(PlaylistError) {
        var parser = MediaPlaylistParser(from: uri, importing: variables, updating: earlier)
        self = try parser.parse(text)
    }
}

extension MediaPlaylist {
    /// The media sequence number of the segment after the last complete one.
    public var nextNumber: Int64 { mediaSequence + Int64(segments.count) }

    /// Returns the complete segment with a media sequence number; nil if the playlist does not contain it.
    public func segment(_ number: Int64) -> MediaSegment? {
        guard number >= mediaSequence, number < nextNumber else { return nil }
        return segments[Int(number - mediaSequence)]
    }

    /// Whether the server may still add segments.
    public var isLive: Bool { !isComplete && kind != .onDemand }
}

/// The preferred point to start playback (`EXT-X-START`; RFC 8216, section 4.3.5.2).
public struct StartPoint: Hashable, Sendable {
    /// The offset from the beginning of the playlist, or from its end if it is negative.
    public var offset: TimeSpan
    /// Whether playback begins exactly at the point instead of at the beginning of the segment that contains it.
    public var isPrecise: Bool

    /// Creates a point at an offset, which counts from the end of the playlist if it is negative.
    public init(offset: TimeSpan, isPrecise: Bool = false) {
        self.offset = offset
        self.isPrecise = isPrecise
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `TIME-OFFSET` is missing or cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            offset: try attributes.required("TIME-OFFSET", attributes.signedSeconds),
            isPrecise: attributes.isYes("PRECISE"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.seconds("TIME-OFFSET", offset)
        writer.yesIfSet("PRECISE", isPrecise)
        return writer
    }
}

/// The last segment and part of another rendition, which lets a client that switches to it send a blocking request at
/// once (`EXT-X-RENDITION-REPORT`; RFC 8216bis, section 4.4.5.4).
public struct RenditionReport: Hashable, Sendable {
    /// The URI of the media playlist, relative to the playlist that contains the report.
    public var uri: String
    /// The media sequence number of the last segment, which may have only parts yet (`LAST-MSN`).
    public var lastSegment: Int64
    /// The index of the last part of that segment, from zero (`LAST-PART`); nil if the rendition has no parts.
    public var lastPart: Int64?

    /// Creates a report of the rendition at a URI.
    public init(uri: String, lastSegment: Int64, lastPart: Int64? = nil) {
        self.uri = uri
        self.lastSegment = lastSegment
        self.lastPart = lastPart
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a number cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            uri: try attributes.required("URI"),
            lastSegment: try attributes.required("LAST-MSN", attributes.integer),
            lastPart: try attributes.integer("LAST-PART"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("URI", uri)
        writer.number("LAST-MSN", lastSegment)
        writer.number("LAST-PART", lastPart)
        return writer
    }
}

/// A resource that will be needed next and can be requested before it is available (`EXT-X-PRELOAD-HINT`; RFC 8216bis,
/// section 4.4.5.3).
public struct PreloadHint: Hashable, Sendable {
    /// The type of the hinted resource (`TYPE`).
    public enum Kind: String, Hashable, Sendable {
        /// A partial segment.
        case part = "PART"
        /// A media initialization section.
        case initialization = "MAP"
    }

    /// The type of the resource.
    public var kind: Kind
    /// The URI as in the playlist, relative or absolute.
    public var uri: String
    /// The offset of the first byte in the resource (`BYTERANGE-START`); 0 if the attribute is missing.
    public var start: Int64
    /// The number of bytes (`BYTERANGE-LENGTH`); nil if the hint extends to the end of the resource.
    public var length: Int64?

    /// Creates a hint; without a length it extends to the end of the resource.
    public init(_ kind: Kind, uri: String, start: Int64 = 0, length: Int64? = nil) {
        self.kind = kind
        self.uri = uri
        self.start = start
        self.length = length
    }

    /// Reads the tag. Returns nil for an unknown type, which clients ignore.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a number cannot be read.
    init?(_ attributes: AttributeList) throws(PlaylistError) {
        guard let kind = Kind(rawValue: try attributes.required("TYPE")) else { return nil }
        self.init(
            kind, uri: try attributes.required("URI"), start: try attributes.integer("BYTERANGE-START") ?? 0,
            length: try attributes.integer("BYTERANGE-LENGTH"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.unquoted("TYPE", kind.rawValue)
        writer.quoted("URI", uri)
        writer.number("BYTERANGE-START", start == 0 ? nil : start)
        writer.number("BYTERANGE-LENGTH", length)
        return writer
    }
}

/// The delivery features of the server and the distance that clients keep from the live edge (`EXT-X-SERVER-CONTROL`;
/// RFC 8216bis, section 4.4.3.8).
public struct ServerControl: Hashable, Sendable {
    /// The distance from the end of the playlist beyond which a delta update may skip segments; nil if there are no
    /// delta updates.
    public var canSkipUntil: TimeSpan?
    /// Whether a delta update may also skip old date ranges.
    public var canSkipDateRanges: Bool
    /// The recommended distance from the end of the playlist (`HOLD-BACK`); nil if the server does not specify it.
    public var holdBack: TimeSpan?
    /// The recommended distance for clients that play partial segments (`PART-HOLD-BACK`); nil if the server does not
    /// specify it.
    public var partHoldBack: TimeSpan?
    /// Whether the server holds a request that names a segment or part until it is available (`CAN-BLOCK-RELOAD`).
    public var canBlockReload: Bool

    /// Creates a value; the defaults mean that the server has no `EXT-X-SERVER-CONTROL` tag.
    public init(
        canSkipUntil: TimeSpan? = nil, canSkipDateRanges: Bool = false, holdBack: TimeSpan? = nil,
        partHoldBack: TimeSpan? = nil, canBlockReload: Bool = false
    ) {
        self.canSkipUntil = canSkipUntil
        self.canSkipDateRanges = canSkipDateRanges
        self.holdBack = holdBack
        self.partHoldBack = partHoldBack
        self.canBlockReload = canBlockReload
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a duration cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            canSkipUntil: try attributes.seconds("CAN-SKIP-UNTIL"),
            canSkipDateRanges: attributes.isYes("CAN-SKIP-DATERANGES"), holdBack: try attributes.seconds("HOLD-BACK"),
            partHoldBack: try attributes.seconds("PART-HOLD-BACK"),
            canBlockReload: attributes.isYes("CAN-BLOCK-RELOAD"))
    }

    /// The attributes of the tag; nil if all have their defaults and the tag is left out.
    var attributes: AttributeWriter? {
        guard self != ServerControl() else { return nil }
        var writer = AttributeWriter()
        writer.yesIfSet("CAN-BLOCK-RELOAD", canBlockReload)
        writer.seconds("CAN-SKIP-UNTIL", canSkipUntil)
        writer.yesIfSet("CAN-SKIP-DATERANGES", canSkipDateRanges)
        writer.seconds("HOLD-BACK", holdBack)
        writer.seconds("PART-HOLD-BACK", partHoldBack)
        return writer
    }
}

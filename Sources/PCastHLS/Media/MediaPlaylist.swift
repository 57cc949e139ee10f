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

public import PCastMedia

/// A list of segments (RFC 8216, section 4.3.3; draft-pantos-hls-rfc8216bis-20, section 4.4.3).
public struct MediaPlaylist: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        /// Segments are added and none is removed.
        case event = "EVENT"
        /// Nothing changes.
        case onDemand = "VOD"
    }

    /// As it says; 1 where it says nothing.
    public var version: Int
    /// No segment is longer, rounded to seconds.
    public var targetDuration: TimeSpan
    /// No part is longer; nil where there are none.
    public var partTargetDuration: TimeSpan?
    /// The number of the first segment.
    public var mediaSequence: Int64
    /// That of the first segment, discontinuities in this text not counted.
    public var discontinuitySequence: Int64
    /// nil for a window that slides.
    public var kind: Kind?
    /// Nothing will be added (`EXT-X-ENDLIST`).
    public var isComplete: Bool
    public var isIFramesOnly: Bool
    /// Each segment can be decoded without another.
    public var hasIndependentSegments: Bool
    public var start: StartPoint?
    public var serverControl: ServerControl
    /// Those that are whole, with numbers that rise by one.
    public var segments: [MediaSegment]
    /// That of which only parts are there, or only the tags before it.
    public var openSegment: MediaSegment?
    public var preloadHints: [PreloadHint]
    public var renditionReports: [RenditionReport]
    /// In the order of their first tags.
    public var dateRanges: [DateRange]
    /// What was defined; it is replaced everywhere else.
    public var variables: [PlaylistVariable]

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

    /// Reads a playlist, or an update of one.
    ///
    /// - Parameters:
    ///   - text: The playlist.
    ///   - uri: Where it came from, after redirections.
    ///   - variables: Those of the multivariant playlist that led here.
    ///   - earlier: What an update that skips segments is added to. What was read of the whole playlist and what is read
    ///     of its update are the same then.
    /// - Throws: ``PlaylistError/skippedSegmentsUnknown(first:count:)`` where `earlier` lacks what was skipped.
    public init(
        _ text: String, from uri: String = "", importing variables: [PlaylistVariable] = [],
        updating earlier: MediaPlaylist? = nil
    ) throws(PlaylistError) {
        var parser = MediaPlaylistParser(from: uri, importing: variables, updating: earlier)
        self = try parser.parse(text)
    }
}

extension MediaPlaylist {
    /// The number of the segment that comes after all that are whole.
    public var nextNumber: Int64 { mediaSequence + Int64(segments.count) }

    /// Those that are whole, and what there is of the next.
    public var allSegments: [MediaSegment] { segments + (openSegment.map { [$0] } ?? []) }

    /// The whole segment of this number.
    public func segment(_ number: Int64) -> MediaSegment? {
        guard number >= mediaSequence, number < nextNumber else { return nil }
        return segments[Int(number - mediaSequence)]
    }

    /// Whether segments still come.
    public var isLive: Bool { !isComplete && kind != .onDemand }
}

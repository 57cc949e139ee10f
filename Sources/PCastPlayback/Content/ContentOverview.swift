package import PCastCore

/// The properties of an item's media. ``PlaybackSession`` has its duration and the range of positions for seeks.
public struct ContentOverview: Hashable, Sendable {
    /// Whether the media has an end.
    public enum Kind: Hashable, Sendable {
        /// The media is complete.
        case onDemand
        /// The media is still being produced, with or without a window for seeks.
        case live
    }

    /// Whether the media is complete or live.
    public var kind: Kind
    /// The available tracks.
    public var tracks: [ContentTrack]
    /// The selected tracks, with at most one of each kind.
    public var selected: Set<ContentTrack.ID>
    /// The duration; nil for live media until it ends.
    package var duration: TimeSpan?
    /// The range of positions for seeks; nil if the content is not seekable.
    package var seekableRange: ClosedRange<TimeSpan>?
    /// The anchors of wall-clock time, ordered by position.
    package var anchors: [TimecodeAnchor]
    /// The distance of the live edge from the end of the seekable range, which is the default position of live media;
    /// nil on demand.
    package var liveEdge: TimeSpan?
    /// Whether the media is live with low latency, by partial segments (RFC 8216bis).
    public var isLowLatency: Bool
    /// Whether playback of live media begins at the live edge, because the presentation states no other position.
    package var startsAtLiveEdge: Bool
    /// The time from capture, by the wall clock, at which frames of live media are displayed; nil for no such time.
    package var playoutDelay: TimeSpan?
    /// The time by which the clock of an HLS encoder is ahead of that of the server at least, or negative behind it; nil if
    /// it is at most 200 ms or unknown.
    package var encoderClockDifference: TimeSpan?

    /// The position at which the media ends; nil while it is live. Live media that has ended begins later than zero, so
    /// its duration is not the position of its end.
    var end: TimeSpan? { duration.map { seekableRange?.upperBound ?? $0 } }

    /// Creates properties.
    package init(
        kind: Kind, tracks: [ContentTrack], selected: Set<ContentTrack.ID> = [], duration: TimeSpan? = nil,
        seekableRange: ClosedRange<TimeSpan>? = nil, anchors: [TimecodeAnchor] = [], liveEdge: TimeSpan? = nil,
        isLowLatency: Bool = false, startsAtLiveEdge: Bool = false, playoutDelay: TimeSpan? = nil,
        encoderClockDifference: TimeSpan? = nil
    ) {
        (self.kind, self.tracks, self.selected, self.duration) = (kind, tracks, selected, duration)
        (self.seekableRange, self.anchors, self.liveEdge) = (seekableRange, anchors, liveEdge)
        (self.isLowLatency, self.startsAtLiveEdge) = (isLowLatency, startsAtLiveEdge)
        (self.playoutDelay, self.encoderClockDifference) = (playoutDelay, encoderClockDifference)
    }

    /// Whether there is a track of a kind.
    public func has(_ kind: ContentTrack.Kind) -> Bool { tracks.contains { $0.kind == kind } }
}

/// A video, audio or subtitle track that can be selected.
public struct ContentTrack: Hashable, Sendable, Identifiable {
    /// The kind of a track.
    public enum Kind: String, Hashable, Sendable, CaseIterable { case video, audio, subtitles }

    /// The ID of a track, which is valid while the item is open.
    public struct ID: Hashable, Sendable, RawRepresentable {
        /// The text of the ID.
        public var rawValue: String

        /// Creates an ID from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The ID.
    public var id: ID
    /// The kind.
    public var kind: Kind
    /// The name from the media; may be empty.
    public var name: String
    /// The language tag (BCP 47); nil if unknown.
    public var language: String?

    /// Creates a track.
    public init(id: ID, kind: Kind, name: String = "", language: String? = nil) {
        (self.id, self.kind, self.name, self.language) = (id, kind, name, language)
    }
}

public import PCastCore

/// What is known of an item's media.
public struct ContentOverview: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// With an end that is known.
        case onDemand
        /// Goes on; with a window that can be gone back in or not.
        case live
    }

    public var kind: Kind
    public var tracks: [ContentTrack]
    /// One of each kind at most.
    public var selected: Set<ContentTrack.ID>
    /// Of live media nil, until they end.
    public var duration: TimeSpan?
    /// Where a seek may go; nil where it cannot.
    public var seekableRange: ClosedRange<TimeSpan>?
    /// What tells wall time, in the order of positions.
    public var anchors: [TimecodeAnchor]
    /// How far live media are ahead of the end of the seekable range, which is where they are read by default; nil on demand.
    public var liveEdge: TimeSpan?
    /// Live media that come by parts of segments, and are followed closely.
    public var isLowLatency: Bool

    public init(
        kind: Kind, tracks: [ContentTrack], selected: Set<ContentTrack.ID> = [], duration: TimeSpan? = nil,
        seekableRange: ClosedRange<TimeSpan>? = nil, anchors: [TimecodeAnchor] = [], liveEdge: TimeSpan? = nil,
        isLowLatency: Bool = false
    ) {
        (self.kind, self.tracks, self.selected, self.duration) = (kind, tracks, selected, duration)
        (self.seekableRange, self.anchors, self.liveEdge) = (seekableRange, anchors, liveEdge)
        self.isLowLatency = isLowLatency
    }

    public func has(_ kind: ContentTrack.Kind) -> Bool { tracks.contains { $0.kind == kind } }
}

internal import PCastCore
internal import PCastHLS

/// What a rendition's loader loads next: a segment, or one from a part on.
struct NextSegment: Sendable {
    var placed: PlacedSegment
    var segment: MediaSegment
    /// The part that is begun with, from zero: behind those that lie before a position that is gone to.
    var firstPart = 0
    /// Where it begins: the segment, or that part.
    var start: TimeSpan

    var duration: TimeSpan { placed.end - start }

    /// By its number, or by the position where there is none. What has left the window is passed over, as are gaps.
    ///
    /// - Parameter isLanding: somebody has gone to this position, so that nothing before it is needed.
    init?(
        _ number: Int64?, at position: TimeSpan, in timeline: PlaylistTimeline, usingParts usesParts: Bool,
        isLanding: Bool
    ) {
        let playlist = timeline.playlist
        func media(_ placed: PlacedSegment) -> MediaSegment? {
            if let segment = playlist.segment(placed.number) { return segment.isGap ? nil : segment }
            return usesParts && playlist.openSegment?.number == placed.number ? playlist.openSegment : nil
        }
        let first = timeline.segments.first { placed in
            if let number, number >= playlist.mediaSequence {
                guard placed.number >= number else { return false }
            } else {
                guard placed.end > position else { return false }
            }
            return media(placed) != nil
        }
        guard let first, let segment = media(first) else { return nil }
        (placed, self.segment, start) = (first, segment, first.start)
        // Parts of transport streams need not say again which streams there are; what has an initialization can be begun with
        // at each part that holds a key frame.
        guard usesParts, isLanding, segment.initialization != nil,
            let part = timeline.independentPart(for: position), part.segment == first.number, part.index > 0
        else { return }
        (firstPart, start) = (part.index, part.start)
    }
}

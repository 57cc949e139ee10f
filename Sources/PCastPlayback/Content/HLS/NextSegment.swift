internal import PCastCore
internal import PCastHLS

/// The next segment for a loader, or its remaining parts.
struct NextSegment: Sendable {
    var placed: TimelineSegment
    var segment: MediaSegment
    /// The index of the first part to load, which is greater than zero after a seek into a partial segment.
    var firstPart = 0
    /// The position of the segment, or of its first part to load.
    var start: TimeSpan

    /// The duration from `start` to the end of the segment.
    var duration: TimeSpan { placed.end - start }

    /// Finds the segment by its number, or by the position if there is no number; nil if there is none. Segments that
    /// left the window and gaps are skipped. `isAfterSeek` is true after a seek to the position, so media before it is
    /// not needed.
    init?(
        _ number: Int64?, at position: TimeSpan, in timeline: PlaylistTimeline, usingParts usesParts: Bool,
        isAfterSeek: Bool
    ) {
        let playlist = timeline.playlist
        func media(_ placed: TimelineSegment) -> MediaSegment? {
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
        // Parts of transport streams may lack the program tables. With an initialization section, loading can begin at
        // each part with a key frame.
        guard usesParts, isAfterSeek, segment.initialization != nil,
            let part = timeline.independentPart(for: position), part.segment == first.number, part.index > 0
        else { return }
        (firstPart, start) = (part.index, part.start)
    }
}

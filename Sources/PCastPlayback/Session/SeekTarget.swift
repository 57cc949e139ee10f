import PCastCore

/// The destination of a seek. Some destinations have a position only after the media is open.
enum SeekTarget: Sendable {
    /// A position of the item.
    case position(TimeSpan)
    /// A wall-clock time.
    case moment(WallTime)
    /// The beginning of the seekable range.
    case beginning
    /// The end of the seekable range, which is the default distance from the live edge.
    case liveEdge

    /// Seeks with a pipeline and returns the epoch of the seek; nil if the content is not seekable or the position of
    /// the wall-clock time is unknown.
    func seek(_ pipeline: any PlaybackPipeline, _ overview: ContentOverview) -> PlayheadEpoch? {
        guard let range = overview.seekableRange else { return nil }
        switch self {
        case .position(let position): return pipeline.seek(to: position)
        case .moment(let moment): return pipeline.seek(to: moment)
        case .beginning: return pipeline.seek(to: range.lowerBound)
        case .liveEdge: return pipeline.seek(to: range.upperBound)
        }
    }
}

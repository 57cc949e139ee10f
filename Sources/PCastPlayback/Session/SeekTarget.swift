import PCastCore

/// Where a seek goes to, which for some is known only when the media were opened.
enum SeekTarget: Sendable {
    case position(TimeSpan)
    case moment(WallTime)
    /// The beginning of what can be gone about in.
    case beginning
    /// As near to the edge of a live programme as it is played by default.
    case liveEdge

    /// Nil where there is nothing to go about in, or nothing tells where the moment is.
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

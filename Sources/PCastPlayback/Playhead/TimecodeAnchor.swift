public import PCastCore

/// A position of which the wall time is known.
public struct TimecodeAnchor: Hashable, Sendable {
    /// Who says so, the most trusted last.
    public enum Source: Int, CaseIterable, Comparable, Sendable {
        /// The clock of this machine, for live media that say nothing: their live edge counts as now.
        case liveEdge
        /// The file's creation time.
        case file
        case programDateTime
        /// Timed metadata in the stream, put there where the clock was.
        case timedMetadata
        /// The sender's clock by RTP.
        case capture
        /// The application says so.
        case application

        public static func < (left: Source, right: Source) -> Bool { left.rawValue < right.rawValue }
    }

    public var position: TimeSpan
    public var wallTime: WallTime
    public var source: Source
    /// Anchors of two runs have nothing to do with each other: between them the clock jumped.
    public var run: Int64

    public init(position: TimeSpan, wallTime: WallTime, source: Source, run: Int64 = 0) {
        self.position = position
        self.wallTime = wallTime
        self.source = source
        self.run = run
    }
}

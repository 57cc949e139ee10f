public import PCastCore

/// The wall-clock time of one position of media without times. Both advance at the same speed.
///
/// For a plain file, or a playlist without `EXT-X-PROGRAM-DATE-TIME`, the application supplies it as
/// ``Source/wallClock``. It has priority over the times in the media.
public struct WallClockMapping: Hashable, Sendable {
    /// The position in the item.
    public var position: Duration
    /// The wall-clock time at which the frame at that position was captured.
    public var wallTime: WallTime

    /// Creates a mapping: the frame at `position` was captured at `wallTime`.
    public init(position: Duration, wallTime: WallTime) { (self.position, self.wallTime) = (position, wallTime) }

    /// Creates a mapping from an offset: the position plus `offset` is the time since 1970-01-01T00:00:00Z.
    public init(offset: Duration) {
        self.init(position: .zero, wallTime: WallTime(nanosecondsSinceEpoch: 0).advanced(by: offset))
    }

    /// Returns a mapping: the frame at position zero was captured at `wallTime`.
    public static func start(_ wallTime: WallTime) -> WallClockMapping {
        WallClockMapping(position: .zero, wallTime: wallTime)
    }

    /// The mapping as a timecode anchor.
    var anchor: TimecodeAnchor {
        TimecodeAnchor(position: TimeSpan(position), wallTime: wallTime, source: .application)
    }
}

/// An estimate of wall-clock time for live media without `EXT-X-PROGRAM-DATE-TIME`. It assumes that the live edge is
/// the present.
///
/// A playlist lists a segment some time after its end, so the edge is observed late and never early. Therefore the
/// smallest difference between wall-clock time and edge is used. If the edge stalls for long, the encoder made no media
/// meanwhile, and a new run with its own difference begins.
struct LiveEdgeClock: Sendable {
    /// A section of the media with one difference between wall-clock time and position.
    private struct Run {
        /// The first position of the run.
        var position: TimeSpan
        /// The wall-clock time of position zero.
        var origin: WallTime
    }

    /// The growth of the difference from which on a new run begins.
    private static let longestLateness = TimeSpan.seconds(30)
    /// The maximum number of runs. The oldest are removed.
    private static let capacity = 64

    private var runs: [Run] = []
    /// The newest live edge; nil before the first.
    private var edge: TimeSpan?

    /// Records that the live edge was observed at a position.
    mutating func note(_ edge: TimeSpan, at wallTime: WallTime) {
        // If the edge has not moved, the observation says nothing about the present.
        guard self.edge.map({ edge > $0 }) ?? true, edge.magnitude < .seconds(Int64(Int32.max)) else { return }
        let origin = wallTime - edge
        if let last = runs.last, origin - last.origin <= Self.longestLateness {
            runs[runs.count - 1].origin = min(origin, last.origin)
        } else {
            runs.append(Run(position: self.edge ?? edge, origin: origin))
            if runs.count > Self.capacity { runs.removeFirst() }
        }
        self.edge = edge
    }

    /// The anchors: one for the beginning of each run.
    var anchors: [TimecodeAnchor] {
        runs.enumerated().map { index, run in
            TimecodeAnchor(
                position: run.position, wallTime: run.origin + run.position, source: .liveEdge, run: Int64(index))
        }
    }
}

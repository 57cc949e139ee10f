import PCastCore

/// The wall time of live media that do not say it: their live edge counts as now.
///
/// A playlist shows a segment some time after its end, so that the edge is seen late and never early. The smallest difference
/// between wall time and edge therefore counts. Where the edge stood still for long, media were not made meanwhile, and another
/// difference counts for what came after that.
struct LiveEdgeClock: Sendable {
    private struct Run {
        /// Where it begins.
        var position: TimeSpan
        /// The wall time of position zero.
        var origin: WallTime
    }

    /// A difference that has grown by more is that of another run.
    private static let longestLateness = TimeSpan.seconds(30)
    /// How many runs are kept.
    private static let capacity = 64

    private var runs: [Run] = []
    private var edge: TimeSpan?

    /// The live edge has been seen there.
    mutating func note(_ edge: TimeSpan, at wallTime: WallTime) {
        // Where nothing has come, nothing is known of now.
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

    /// One for each run.
    var anchors: [TimecodeAnchor] {
        runs.enumerated().map { index, run in
            TimecodeAnchor(
                position: run.position, wallTime: run.origin + run.position, source: .liveEdge, run: Int64(index))
        }
    }
}

import PCastCore

/// A viewer's statistics between two of its `stats` events.
struct ViewerMeasurement {
    private let first: RecordedProcess.Event
    private let last: RecordedProcess.Event
    private let all: [RecordedProcess.Event]
    /// The time of the viewer's first frame.
    private let beginning: Instant?

    /// Creates the statistics of an interval. Throws `BenchFailure` if the interval has fewer than two `stats` events.
    init(_ viewer: RecordedProcess, from start: Instant, until end: Instant) throws {
        try self.init(
            viewer.events("stats", since: start, until: end), firstFrame: viewer.events("firstFrame").first?.instant)
    }

    /// Creates the statistics of an interval from its `stats` events and the time of the viewer's first frame. Throws
    /// `BenchFailure` if there are fewer than two events.
    init(_ events: [RecordedProcess.Event], firstFrame: Instant?) throws {
        guard let first = events.first, let last = events.last, events.count >= 2 else {
            throw BenchFailure("the viewer reported no statistics")
        }
        self.first = first
        self.last = last
        all = Array(events.dropFirst())
        beginning = firstFrame
    }

    var seconds: Double { (last.instant - first.instant).seconds }

    /// The increase of a counter; nil if the events do not contain it.
    func growth(_ field: String) -> Double? {
        guard let before = first.number(field), let after = last.number(field) else { return nil }
        return after - before
    }

    var framesPerSecond: Double? { growth("framesRendered").map { $0 / seconds } }
    var freezeCount: Double? { growth("freezeCount") }
    /// The share of the time in which video was frozen, 0 to 1.
    var freezeShare: Double? { growth("freezeDuration").map { $0 / 1_000 / seconds } }
    /// The median of the medians of each second, in milliseconds.
    var latencyP50: Double? { Percentile.of(values("latencyP50"), 0.5) }
    /// The mean of the bitrates of each second, in bits per second.
    var bitrate: Double? {
        let values = values("bitrate")
        return values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }

    func values(_ field: String) -> [Double] { all.compactMap { $0.number(field) } }

    /// The share of audio that was concealed or missing, 0 to 1. It is calculated from the events' values, which are
    /// shares since the first frame.
    var concealedShare: Double? {
        guard let beginning, let before = first.number("audioConcealed"), let after = last.number("audioConcealed")
        else { return nil }
        let elapsed = (last.instant - beginning).seconds
        let concealed = after * elapsed - before * (first.instant - beginning).seconds
        return max(0, concealed / seconds)
    }

    /// The number of frames shown whose time code in the test pattern could not be read.
    var brokenFrames: Double? { growth("framesBroken") }
}

import PCastMedia

/// What a viewer told between two of its statistics.
struct Watching {
    private let first: RecordedProcess.Event
    private let last: RecordedProcess.Event
    private let all: [RecordedProcess.Event]
    /// When the viewer had its first picture.
    private let beginning: Instant?

    /// - Throws: `BenchFailure` when it told too little.
    init(_ viewer: RecordedProcess, from start: Instant, until end: Instant) throws {
        let events = viewer.events("stats", since: start, until: end)
        guard let first = events.first, let last = events.last, events.count >= 2 else {
            throw BenchFailure("the viewer told no statistics")
        }
        self.first = first
        self.last = last
        all = Array(events.dropFirst())
        beginning = viewer.events("firstFrame").first?.instant
    }

    var seconds: Double { (last.instant - first.instant).seconds }

    /// How much a count has grown; nil where it is not told.
    func growth(_ field: String) -> Double? {
        guard let before = first.number(field), let after = last.number(field) else { return nil }
        return after - before
    }

    var framesPerSecond: Double? { growth("framesRendered").map { $0 / seconds } }
    var freezeCount: Double? { growth("freezeCount") }
    /// The share of the time, 0 to 1.
    var freezeShare: Double? { growth("freezeDuration").map { $0 / 1_000 / seconds } }
    /// Of the medians of each second.
    var latencyP50: Double? { Percentile.of(values("latencyP50"), 0.5) }
    /// Of the bitrates of each second.
    var bitrate: Double? {
        let values = values("bitrate")
        return values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }

    func values(_ field: String) -> [Double] { all.compactMap { $0.number(field) } }

    /// The share of sound that was made up or missing, 0 to 1. What is told is of the whole time.
    var concealedShare: Double? {
        guard let beginning, let before = first.number("audioConcealed"), let after = last.number("audioConcealed")
        else { return nil }
        let elapsed = (last.instant - beginning).seconds
        let concealed = after * elapsed - before * (first.instant - beginning).seconds
        return max(0, concealed / seconds)
    }

    /// Pictures that were shown with a test picture's time strip that could not be read.
    var brokenFrames: Double? { growth("framesBroken") }
}

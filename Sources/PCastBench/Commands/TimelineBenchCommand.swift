import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastTimeline

/// `pcast-bench timeline` checks that events come with their frame, and measures their latency with ten thousand
/// consumers.
struct TimelineBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Measure the events of a live game: delivery with their frame, and to thousands of consumers.",
        discussion: """
            The platform is a separate process. First, players of a live HLS stream with a wall clock, whose frames \
            contain their number, play at the live edge, half a minute and two minutes behind it, and one receives \
            all events at once. Meanwhile, a producer adds events on time, late and in advance, updates and deletes \
            them, and the viewers seek at random. “early” counts events that were delivered before the frame of \
            their time, “late” is the time from that frame to the event, and “wrongSets” counts differences between \
            a viewer's events and those of the log at its frame. Then consumers with their own sockets follow one \
            game: the latency is from the producer's request to the arrival at each.
            """)

    /// The rest of the film after the watched part, in seconds.
    private static let rest = 25

    @Option(help: "Number of changes during playback, and as many before it.")
    var count = 200

    @Option(help: "Seconds of these changes.")
    var seconds = 30

    @Option(help: "Number of consumers of one game.")
    var consumers = 10_000

    @Option(help: "Number of events for them.")
    var rounds = 20

    @Option(help: "Seed of the random changes and seeks.")
    var seed: UInt64 = 1

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...2_000).contains(count), (5...40).contains(seconds), (0...20_000).contains(consumers), rounds >= 1
        else {
            throw ValidationError(
                "--count must be 1 to 2000, --seconds 5 to 40, --consumers at most 20000, and --rounds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        try Descriptors.allowMany()
        let folder = "/dev/shm/pcast-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let platform = try await TimelineSetup.start(in: folder)
        defer { platform.stop() }
        let film = try StampedVideo(seconds: TimelineScenario.head + seconds + Self.rest, in: folder)
        let viewers = try await TimelineScenario(platform, film: film, count: count, seconds: seconds, seed: seed)
            .run()
        for viewer in viewers { report.row(viewer.name, Totals([viewer.metrics]).row) }
        let programme = Totals(viewers.map(\.metrics))
        let load = consumers > 0 ? try await TimelineLoad.measure(platform, consumers, rounds: rounds) : nil
        if let load {
            report.row(
                "\(consumers) consumers",
                [
                    "latencyP50": Percentile.of(load.latencies, 0.5),
                    "latencyP99": Percentile.of(load.latencies, 0.99),
                    "latencyMax": load.latencies.max(), "joined": load.joining, "missing": Double(load.missing),
                ])
        }
        try report.finish(
            [
                "told": programme.delivered, "seeks": programme.seeks, "early": programme.early,
                "lateP99": programme.lateP99, "lateMax": programme.lateMax, "sets": programme.sets,
                "wrongSets": programme.wrongSets, "consumers": Double(consumers),
                "latencyP50": load.flatMap { Percentile.of($0.latencies, 0.5) },
                "latencyP99": load.flatMap { Percentile.of($0.latencies, 0.99) },
                "latencyMax": load?.latencies.max(), "missing": load.map { Double($0.missing) },
            ],
            targets: [
                Target("early", .exactly(0)), Target("lateMax", .atMost(100)), Target("wrongSets", .exactly(0)),
            ] + (load == nil ? [] : [Target("latencyMax", .atMost(500)), Target("missing", .exactly(0))]))
    }

    /// The sums over one or all viewers.
    private struct Totals {
        let delivered, seeks, early, sets, wrongSets: Double
        let lateP99, lateMax: Double?

        init(_ all: [TimelineViewer.Metrics]) {
            func sum(_ value: (TimelineViewer.Metrics) -> Int) -> Double { Double(all.map(value).reduce(0, +)) }
            let late = all.flatMap(\.late)
            (delivered, seeks, early) = (sum(\.delivered), sum(\.seeks), sum(\.early))
            (sets, wrongSets) = (sum(\.sets), sum(\.wrongSets))
            (lateP99, lateMax) = (Percentile.of(late, 0.99), late.max())
        }

        var row: Report.Metrics {
            [
                "told": delivered, "seeks": seeks, "early": early, "lateP99": lateP99, "lateMax": lateMax, "sets": sets,
                "wrongSets": wrongSets,
            ]
        }
    }
}

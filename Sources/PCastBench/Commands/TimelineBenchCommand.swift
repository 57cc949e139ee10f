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
        abstract: "Events of a live game: with their picture, never before; and with thousands of consumers at once.",
        discussion: """
            A platform in a process of its own. First, players on live HTTP Live Streaming with a wall clock, whose pictures \
            say which one they are, at the edge, half a minute and two minutes behind it, and one who is told everything; while \
            a producer tells of events on time, late, planned, corrected and withdrawn, and the viewers seek at random: “early” \
            are events that were told before the picture of their moment was shown, “late” is the time from that picture to the \
            event, and “wrongSets” counts where a viewer knew something else than a fresh look at the log makes of the picture \
            before him. Then consumers on sockets of their own, all of one game: the latency is \
            from before the producer's request to the arrival at each.
            """)

    /// The rest of the film after the watched part, in seconds.
    private static let rest = 25

    @Option(help: "Changes that the producer tells while the programme plays; so many were told before.")
    var count = 200

    @Option(help: "Seconds during which it does.")
    var seconds = 30

    @Option(help: "Consumers of one game.")
    var consumers = 10_000

    @Option(help: "Events that they are told.")
    var rounds = 20

    @Option(help: "What the changes and the seeks are drawn by.")
    var seed: UInt64 = 1

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...2_000).contains(count), (5...40).contains(seconds), (0...20_000).contains(consumers), rounds >= 1
        else {
            throw ValidationError(
                "--count is 1 to 2000, --seconds 5 to 40, --consumers at most 20000, --rounds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        try Descriptors.allowMany()
        let folder = "/dev/shm/pcast-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let platform = try await TimelineStage.start(in: folder)
        defer { platform.stop() }
        let film = try StampedFilm(seconds: TimelineProgramme.head + seconds + Self.rest, in: folder)
        let viewers = try await TimelineProgramme(platform, film: film, count: count, seconds: seconds, seed: seed)
            .run()
        for viewer in viewers { report.row(viewer.name, Totals([viewer.figures]).row) }
        let programme = Totals(viewers.map(\.figures))
        let crowd = consumers > 0 ? try await TimelineCrowd.measure(platform, consumers, rounds: rounds) : nil
        if let crowd {
            report.row(
                "\(consumers) consumers",
                [
                    "latencyP50": Percentile.of(crowd.latencies, 0.5),
                    "latencyP99": Percentile.of(crowd.latencies, 0.99),
                    "latencyMax": crowd.latencies.max(), "joined": crowd.joining, "missing": Double(crowd.missing),
                ])
        }
        try report.finish(
            [
                "told": programme.told, "seeks": programme.seeks, "early": programme.early,
                "lateP99": programme.lateP99, "lateMax": programme.lateMax, "sets": programme.sets,
                "wrongSets": programme.wrongSets, "consumers": Double(consumers),
                "latencyP50": crowd.flatMap { Percentile.of($0.latencies, 0.5) },
                "latencyP99": crowd.flatMap { Percentile.of($0.latencies, 0.99) },
                "latencyMax": crowd?.latencies.max(), "missing": crowd.map { Double($0.missing) },
            ],
            targets: [
                Target("early", .exactly(0)), Target("lateMax", .atMost(100)), Target("wrongSets", .exactly(0)),
            ] + (crowd == nil ? [] : [Target("latencyMax", .atMost(500)), Target("missing", .exactly(0))]))
    }

    /// The sums over one or all viewers.
    private struct Totals {
        let told, seeks, early, sets, wrongSets: Double
        let lateP99, lateMax: Double?

        init(_ all: [TimelineViewer.Figures]) {
            func sum(_ value: (TimelineViewer.Figures) -> Int) -> Double { Double(all.map(value).reduce(0, +)) }
            let late = all.flatMap(\.late)
            (told, seeks, early) = (sum(\.told), sum(\.seeks), sum(\.early))
            (sets, wrongSets) = (sum(\.sets), sum(\.wrongSets))
            (lateP99, lateMax) = (Percentile.of(late, 0.99), late.max())
        }

        var row: Report.Figures {
            [
                "told": told, "seeks": seeks, "early": early, "lateP99": lateP99, "lateMax": lateMax, "sets": sets,
                "wrongSets": wrongSets,
            ]
        }
    }
}

import ArgumentParser
import PCast
import PCastCore
import PCastTestSupport

/// `pcast-bench latency` measures the time from the capture of the test pattern to its presentation.
struct LatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measure the latency from capture to rendering through a platform process, 720p30 with audio.",
        discussion: """
            First a viewer with lip sync, then one with video only, each for --seconds. Then --joins viewers, one \
            after another, beside a viewer that stays. Their result is the time from the first frame to the live \
            edge: the first frame whose lag is at most one frame interval more than the later median.

            With --contended, one thread for each CPU works beside them without a pause, at the ordinary priority. \
            Then only the 99th percentile of the video's latency and the dropped frames have targets.
            """)

    @Option(help: "Seconds of each viewer.")
    var seconds = 30

    @Option(help: "Number of viewers that join, for the time to the live edge.")
    var joins = 20

    @Flag(help: "Measure beside other work that uses every CPU.")
    var contended = false

    @OptionGroup var options: ReportOptions

    private static let pictureLatencyP99 = Target("pictureLatencyP99", .atMost(80))
    private static let framesDropped = Target("framesDropped", .exactly(0))

    private static let quietTargets = [
        Target("pictureLatencyP50", .atMost(50)), pictureLatencyP99,
        Target("latencyP50", .atMost(80)), Target("latencyP99", .atMost(120)),
        Target("audioVideoSkew", .within(40)), framesDropped,
        Target("freezeCount", .exactly(0)), Target("timeToLiveEdgeP95", .atMost(liveEdge)),
        Target("firstFrameP95", .atMost(1_000)),
    ]

    static func targets(isContended: Bool) -> [Target] {
        isContended ? [pictureLatencyP99, framesDropped] : quietTargets
    }

    /// The limit of the time from the first frame to the live edge at the 95th percentile, in milliseconds.
    private static let liveEdge = 150.0

    func validate() throws {
        guard seconds > 0, joins > 0 else { throw ValidationError("--seconds and --joins must be at least 1.") }
    }

    func run() async throws {
        var report = Report(options)
        let live = try await TestPatternStream.start()
        defer { live.stop() }
        let work = contended ? try ContendingWork() : nil
        defer { work?.stop() }
        let suffix = contended ? ", contended" : ""
        let synchronized = try await watchByProgram(live)
        addRow(synchronized, "in lip sync" + suffix, p50: 80, p99: 120, &report)
        let videoOnly = WatchingMetrics(try await Viewing(live).watch(for: .seconds(seconds), lipSync: false))
        addRow(videoOnly, "video only" + suffix, p50: contended ? 80 : 50, p99: 80, &report)
        let startUp = try await measureStartUp(live, &report)
        try report.finish(
            [
                "pictureLatencyP50": videoOnly.latencyP50, "pictureLatencyP99": videoOnly.latencyP99,
                "latencyP50": synchronized.latencyP50, "latencyP99": synchronized.latencyP99,
                "audioVideoSkew": synchronized.audioVideoSkew,
                "framesDropped": synchronized.framesDropped + videoOnly.framesDropped,
                "freezeCount": synchronized.freezeCount + videoOnly.freezeCount,
                "pictureSteadyLatencyP50": videoOnly.steadyLatencyP50,
                "pictureSteadyLatencyP99": videoOnly.steadyLatencyP99,
                "steadyLatencyP50": synchronized.steadyLatencyP50, "steadyLatencyP99": synchronized.steadyLatencyP99,
                "timeToLiveEdgeP50": startUp.liveEdgeP50, "timeToLiveEdgeP95": startUp.liveEdgeP95,
                "firstFrameP50": startUp.firstFrameP50, "firstFrameP95": startUp.firstFrameP95,
            ], targets: Self.targets(isContended: contended))
    }

    private struct StartUp {
        let firstFrameP50: Double?
        let firstFrameP95: Double?
        let liveEdgeP50: Double?
        let liveEdgeP95: Double?
    }

    private func measureStartUp(_ live: TestPatternStream, _ report: inout Report) async throws -> StartUp {
        var generator = SeededGenerator(seed: 1)
        let joins = try await Viewing(live).joins(self.joins) {
            .milliseconds(Int64.random(in: 200...1_200, using: &generator))
        }
        // A join that did not reach the live edge counts as infinite.
        let edges = joins.map { $0.summary.timeToLiveEdge?.milliseconds ?? .infinity }
        let firstFrames = joins.map(\.firstFrame.milliseconds)
        let startUp = StartUp(
            firstFrameP50: Percentile.of(firstFrames, 0.5), firstFrameP95: Percentile.of(firstFrames, 0.95),
            liveEdgeP50: Percentile.of(edges, 0.5),
            liveEdgeP95: Percentile.of(edges, 0.95))
        let (rendered, skipped) = joins.reduce((0, 0)) {
            ($0.0 + ($1.summary.startUpFramesRendered ?? 0), $0.1 + $1.summary.startUpFramesSkipped)
        }
        report.row(
            "start-up",
            [
                "joins": Double(joins.count), "firstFrameP50": startUp.firstFrameP50,
                "firstFrameP95": startUp.firstFrameP95, "liveEdgeP50": startUp.liveEdgeP50,
                "liveEdgeP95": startUp.liveEdgeP95, "liveEdgeMax": edges.max(),
                "rendered": Double(rendered), "skipped": Double(skipped),
                "latencyMax": joins.compactMap(\.summary.startUpLatencyMaximum).max()?.milliseconds,
            ], pass: Target("", .atMost(Self.liveEdge)).holds(for: startUp.liveEdgeP95))
        return startUp
    }

    /// Subscribes like a user, with `pcast subscribe`.
    private func watchByProgram(_ live: TestPatternStream) async throws -> WatchingMetrics {
        let tokens = [try live.authenticationToken(), try live.viewingToken()]
        let viewer = try PCastProcess(
            ["subscribe", "--uri", live.uri, "--render", "null", "--for", "\(seconds)s"],
            environment: ["PCAST_SUBSCRIBE_TOKEN": tokens.joined(separator: ",")])
        defer { viewer.stop() }
        let summary = try await viewer.next("summary", within: .seconds(seconds + 20))
        return WatchingMetrics(summary)
    }

    private func addRow(
        _ statistics: WatchingMetrics, _ name: String, p50: Double, p99: Double, _ report: inout Report
    ) {
        let isQuick =
            Target("", .atMost(p50)).holds(for: statistics.latencyP50)
            && Target("", .atMost(p99)).holds(for: statistics.latencyP99)
        report.row(
            name,
            [
                "latencyP50": statistics.latencyP50, "latencyP99": statistics.latencyP99,
                "steadyP50": statistics.steadyLatencyP50, "steadyP99": statistics.steadyLatencyP99,
                "timeToLiveEdge": statistics.timeToLiveEdge,
                "audioVideoSkew": statistics.audioVideoSkew, "framesRendered": statistics.framesRendered,
                "framesDropped": statistics.framesDropped, "freezeCount": statistics.freezeCount,
            ], pass: isQuick && statistics.framesDropped == 0)
    }
}

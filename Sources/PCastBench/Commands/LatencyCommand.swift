import ArgumentParser

/// `pcast-bench latency`: from the test picture's capture to its being shown.
struct LatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "From capture to screen through a platform of its own process, 720p30 with sound.",
        discussion: "First a viewer in lip sync, then one of the picture alone, each for --seconds.")

    @Option(help: "How long each viewer watches.")
    var seconds = 30

    @OptionGroup var options: ReportOptions

    private static let targets = [
        Target("pictureLatencyP50", .atMost(50)), Target("pictureLatencyP99", .atMost(80)),
        Target("latencyP50", .atMost(80)), Target("latencyP99", .atMost(120)),
        Target("audioVideoSkew", .within(40)), Target("framesDropped", .exactly(0)),
    ]

    func validate() throws {
        guard seconds > 0 else { throw ValidationError("--seconds is at least 1.") }
    }

    func run() async throws {
        var report = Report(options)
        let live = try await LiveStream.start()
        defer { live.stop() }
        let synchronized = try await watchByProgram(live)
        tell(synchronized, "in lip sync", p50: 80, p99: 120, &report)
        let picture = WatchingFigures(try await Viewing(live).watch(for: .seconds(seconds), lipSync: false))
        tell(picture, "picture alone", p50: 50, p99: 80, &report)
        try report.finish(
            [
                "pictureLatencyP50": picture.latencyP50, "pictureLatencyP99": picture.latencyP99,
                "latencyP50": synchronized.latencyP50, "latencyP99": synchronized.latencyP99,
                "audioVideoSkew": synchronized.audioVideoSkew,
                "framesDropped": synchronized.framesDropped + picture.framesDropped,
            ], targets: Self.targets)
    }

    /// As a user watches: with `pcast subscribe`.
    private func watchByProgram(_ live: LiveStream) async throws -> WatchingFigures {
        let tokens = [try live.authenticationToken(), try live.viewingToken()]
        let viewer = try PCastProcess(
            ["subscribe", "--uri", live.uri, "--render", "null", "--for", "\(seconds)s"],
            environment: ["PCAST_SUBSCRIBE_TOKEN": tokens.joined(separator: ",")])
        defer { viewer.stop() }
        let summary = try await viewer.next("summary", within: .seconds(seconds + 20))
        return WatchingFigures(summary)
    }

    private func tell(
        _ statistics: WatchingFigures, _ name: String, p50: Double, p99: Double, _ report: inout Report
    ) {
        let isQuick =
            Target("", .atMost(p50)).holds(for: statistics.latencyP50)
            && Target("", .atMost(p99)).holds(for: statistics.latencyP99)
        report.row(
            name,
            [
                "latencyP50": statistics.latencyP50, "latencyP99": statistics.latencyP99,
                "audioVideoSkew": statistics.audioVideoSkew, "framesRendered": statistics.framesRendered,
                "framesDropped": statistics.framesDropped, "freezeCount": statistics.freezeCount,
            ], pass: isQuick && statistics.framesDropped == 0)
    }
}

import ArgumentParser
import PCastCore

/// `pcast-bench relay-latency` measures the latency that the SFU adds.
struct RelayLatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay-latency",
        abstract: "Measure the delay of packets from publisher to viewer at about half load.",
        discussion: """
            The streams are not synchronized. Half load is half of the SFU's processor; the table shows the actual \
            load, and --viewers changes it. With one stream, the last viewer of a frame waits for the work of all \
            others. “ofFrameWork” is the 99th percentile in units of the time that one frame takes.
            """)

    @Option(help: "Number of streams, which share the viewers equally.")
    var streams = 20

    @Option(help: "Total number of viewers.")
    var viewers = 500

    @Option(help: "Seconds to measure.")
    var seconds = 15

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...200).contains(streams), (streams...20_000).contains(viewers), seconds > 0 else {
            throw ValidationError(
                "--streams must be 1 to 200, --viewers at least --streams and at most 20000, and --seconds at least 1.")
        }
    }

    private var targets: [Target] {
        [
            streams > 1 ? Target("delayP99", .atMost(5)) : Target("ofFrameWork", .atMost(1.2)),
            Target("missing", .exactly(0)), Target("idle", .exactly(0)),
        ]
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(streams: streams, of: .even, viewers: viewers, decryptsEach: 4)
        defer { broadcast.stop() }
        let measurement = try await broadcast.measure(seconds: seconds)
        report.row("\(streams) streams to \(viewers)", measurement.round.row, pass: !measurement.round.isVoid)
        let frames = measurement.round.elapsed.seconds * Double(broadcast.profile.rate) * Double(streams)
        let work = measurement.round.processorTime.milliseconds / frames
        let p99 = measurement.delays.percentile(0.99)
        try report.finish(
            [
                "ofProcessor": measurement.round.share, "delayP50": measurement.delays.percentile(0.5), "delayP99": p99,
                "frameWork": work, "ofFrameWork": p99.map { $0 / work },
                "missing": Double(measurement.round.missing), "idle": Double(measurement.round.idle),
            ], targets: targets)
    }
}

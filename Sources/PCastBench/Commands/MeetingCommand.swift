import ArgumentParser

/// `pcast-bench meeting` measures many publishers with a few viewers each.
struct MeetingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "meeting",
        abstract: "Measure CPU time and added delay with many small publishers that have a few viewers each.",
        discussion: "The publishers' frames are spread over time. Delays are from sending to arrival.")

    @Option(help: "Number of publishers.")
    var publishers = 100

    @Option(help: "Number of viewers of each publisher.")
    var viewers = 20

    @Option(help: "Seconds to measure.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    private static let targets = [
        Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
    ]

    func validate() throws {
        guard (1...1_000).contains(publishers), (1...1_000).contains(viewers), seconds > 0 else {
            throw ValidationError("--publishers and --viewers must be 1 to 1000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let total = publishers * viewers
        let broadcast = try await Broadcast.start(
            streams: publishers, of: .small, viewers: total, decryptsEach: total > 1_000 ? 8 : 1)
        defer { broadcast.stop() }
        let measurement = try await broadcast.measure(seconds: seconds)
        report.row("\(publishers) to \(viewers) each", measurement.round.row, pass: !measurement.round.isVoid)
        try report.finish(
            measurement.round.row + [
                ("delayP50", measurement.delays.percentile(0.5)), ("delayP99", measurement.delays.percentile(0.99)),
                ("requestedOfPublishers", Double(measurement.publishing.requested)),
            ], targets: Self.targets)
    }
}

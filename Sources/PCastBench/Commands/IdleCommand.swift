import ArgumentParser
import PCastCore

/// `pcast-bench idle` measures the cost of idle viewers and the memory per viewer.
struct IdleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Measure the memory per viewer, and CPU time and wake-ups when the publisher is silent.",
        discussion: """
            Memory is the resident size of the platform's process, minus that with eight viewers. Then the publisher \
            sends no media but stays connected, so only the viewers' checks and reports remain.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 2_000

    @Option(help: "Protocol of the viewers: whep, or session (the PCast protocol, with a WebSocket each).")
    var by = LoadViewers.JoinProtocol.whep

    @Option(help: "Seconds of silence to measure.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    private var targets: [Target] {
        [Target("memoryPerViewer", .atMost(by == .whep ? 30_000 : 45_000)), Target("missing", .exactly(0))]
    }

    func validate() throws {
        guard (9...20_000).contains(viewers), seconds > 0 else {
            throw ValidationError("--viewers must be 9 to 20000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(
            of: .small, viewers: viewers, by: by, decryptsEach: viewers > 1_000 ? 8 : 1)
        defer { broadcast.stop() }
        let watching = try await broadcast.measure(seconds: min(5, seconds))
        let memory = broadcast.memoryPerViewer
        report.row("\(viewers) watch", watching.round.row, pass: !watching.round.isVoid)
        await broadcast.publishers.run(false)
        let silent = try await broadcast.measure(seconds: seconds)
        report.row(
            "nothing is sent",
            [
                "ofProcessor": silent.round.share, "wakeUpsPerSecond": silent.wakeUps,
                "microsecondsPerViewer": silent.round.processorTime.seconds / Double(seconds) / Double(viewers) * 1e6,
            ])
        try report.finish(
            [
                "memoryPerViewer": memory, "missing": Double(watching.round.missing),
                "idleOfProcessor": silent.round.share, "idleWakeUpsPerSecond": silent.wakeUps,
            ], targets: targets)
    }
}

extension LoadViewers.JoinProtocol: ExpressibleByArgument {}

import ArgumentParser
import PCastCore

/// `pcast-bench soak` runs a long time under load, during which sequence numbers and timestamps wrap around.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Measure packet loss and memory growth under load over a long time.",
        discussion: """
            The publisher's sequence numbers, timestamps and transport sequence numbers begin just before they wrap, \
            so that they wrap at once and then every few minutes. Memory is compared with that after the first part. \
            With --load, the publisher changes its frame rate so that the platform uses that share of its processor.
            """)

    @Option(help: "Number of minutes.")
    var minutes = 60.0

    @Option(help: "Number of viewers.")
    var viewers = 500

    @Option(help: "CPU load of the platform, such as 0.8. (default: that of 30 frames per second)")
    var load: Double?

    @Option(help: "Suspend the platform for this long in each part, such as 600ms, as on an overloaded host.")
    var stall = MillisecondsArgument(span: .zero)

    @OptionGroup var options: ReportOptions

    /// The time until the load has reached its target.
    private static let settlingTime = Duration.seconds(60)
    private static let growth = 4.0 * 1_024 * 1_024
    private static let targets = [
        Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
        Target("memoryGrowth", .atMost(growth)), Target("ownDrops", .exactly(0)),
    ]

    func validate() throws {
        guard minutes > 0, (1...20_000).contains(viewers) else {
            throw ValidationError("--minutes must be more than 0, and --viewers 1 to 20000.")
        }
        guard load.map({ 0.05...0.95 ~= $0 }) ?? true else { throw ValidationError("--load must be 0.05 to 0.95.") }
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(
            of: .even, viewers: viewers, decryptsEach: viewers > 1_000 ? 8 : 1,
            beginning: LightPublisher.InitialState(
                sequenceNumber: 65_000, timestamp: .max - 900_000, transportNumber: 65_300))
        defer { broadcast.stop() }
        let loadTask = load.map { load in Task { try await broadcast.keepLoad(at: load) } }
        defer { loadTask?.cancel() }
        if loadTask != nil { try await Task.sleep(for: Self.settlingTime) }
        let parts = minutes < 1 ? 3 : 10
        let part = max(1, Int(minutes * 60 / Double(parts)))
        var settled: Double?
        var rounds: [FanOutRound] = []
        for number in 1...parts {
            async let measurement = broadcast.measure(seconds: part)
            if stall.span > .zero {
                try await Task.sleep(for: .seconds(part) / 3)
                try await broadcast.setup.platform.suspend(for: stall.span)
            }
            let measured = try await measurement
            let round = measured.round
            rounds.append(round)
            let memory = broadcast.setup.residentMemory
            settled = settled ?? memory
            let frames = Double(measured.publishing.frames) / round.elapsed.seconds
            report.row(
                "\(number) of \(parts)", round.row + [("framesPerSecond", frames), ("memory", memory)],
                pass: round.missing == 0)
        }
        func sum(_ metric: (FanOutRound) -> Int) -> Double { Double(rounds.reduce(0) { $0 + metric($1) }) }
        try report.finish(
            [
                ("minutes", minutes), ("packets", sum(\.packets)), ("missing", sum(\.missing)),
                ("unauthentic", sum(\.unauthentic)), ("idle", sum(\.idle)), ("ownDrops", sum(\.ownDrops)),
                ("ofProcessor", Percentile.of(rounds.map(\.share), 0.5)),
                ("memoryGrowth", settled.map { broadcast.setup.residentMemory - $0 }),
            ], targets: Self.targets + (load.map { [Target("ofProcessor", .atLeast(0.95 * $0))] } ?? []))
    }
}

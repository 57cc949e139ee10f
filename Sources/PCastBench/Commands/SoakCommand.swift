import ArgumentParser
import PCastCore

/// `pcast-bench soak` runs a long time under load, during which sequence numbers and timestamps wrap around.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "A long time under load: no packet lost, and memory that does not grow.",
        discussion: """
            The publisher's sequence numbers, timestamps and transport numbers begin just before they wrap, so that \
            roll-over counters go on at once, and then every few minutes. Memory is compared with what it was after the \
            first of its parts. With --load the publisher sends more or fewer pictures a second, so that the platform \
            takes that share of its processor however fast the machine is at the time.
            """)

    @Option(help: "How many minutes.")
    var minutes = 60.0

    @Option(help: "How many viewers.")
    var viewers = 500

    @Option(help: "What the platform shall take of its processor, such as 0.8; without it 30 pictures a second.")
    var load: Double?

    @Option(help: "In each part the platform stands still for so long, such as 600ms, as on a machine that is full.")
    var stall = MillisecondsArgument(span: .zero)

    @OptionGroup var options: ReportOptions

    /// The time until the load has reached its target.
    private static let settling = Duration.seconds(60)
    private static let growth = 4.0 * 1_024 * 1_024
    private static let targets = [
        Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
        Target("memoryGrowth", .atMost(growth)), Target("ownDrops", .exactly(0)),
    ]

    func validate() throws {
        guard minutes > 0, (1...20_000).contains(viewers) else {
            throw ValidationError("--minutes is more than 0, --viewers from 1 to 20000.")
        }
        guard load.map({ 0.05...0.95 ~= $0 }) ?? true else { throw ValidationError("--load is from 0.05 to 0.95.") }
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(
            of: .even, viewers: viewers, decryptsEach: viewers > 1_000 ? 8 : 1,
            beginning: LightPublisher.Beginning(
                sequenceNumber: 65_000, timestamp: .max - 900_000, transportNumber: 65_300))
        defer { broadcast.stop() }
        let keeper = load.map { load in Task { try await broadcast.keepLoad(at: load) } }
        defer { keeper?.cancel() }
        if keeper != nil { try await Task.sleep(for: Self.settling) }
        let parts = minutes < 1 ? 3 : 10
        let part = max(1, Int(minutes * 60 / Double(parts)))
        var settled: Double?
        var rounds: [FanOutRound] = []
        for number in 1...parts {
            async let turn = broadcast.measure(seconds: part)
            if stall.span > .zero {
                try await Task.sleep(for: .seconds(part) / 3)
                try await broadcast.stage.platform.standStill(for: stall.span)
            }
            let measured = try await turn
            let round = measured.round
            rounds.append(round)
            let memory = broadcast.stage.residentMemory
            settled = settled ?? memory
            let pictures = Double(measured.publishing.frames) / round.elapsed.seconds
            report.row(
                "\(number) of \(parts)", round.row + [("pictures", pictures), ("memory", memory)],
                pass: round.missing == 0)
        }
        func sum(_ figure: (FanOutRound) -> Int) -> Double { Double(rounds.reduce(0) { $0 + figure($1) }) }
        try report.finish(
            [
                ("minutes", minutes), ("packets", sum(\.packets)), ("missing", sum(\.missing)),
                ("unauthentic", sum(\.unauthentic)), ("idle", sum(\.idle)), ("ownDrops", sum(\.ownDrops)),
                ("ofProcessor", Percentile.of(rounds.map(\.share), 0.5)),
                ("memoryGrowth", settled.map { broadcast.stage.residentMemory - $0 }),
            ], targets: Self.targets + (load.map { [Target("ofProcessor", .atLeast(0.95 * $0))] } ?? []))
    }
}

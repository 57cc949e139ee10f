import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench shards` measures the cost of distributing a stream's viewers over several threads.
struct ShardsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shards",
        abstract: "Compare the CPU time per forwarded packet of one and several SFU shards.",
        discussion: """
            In alternating rounds: a platform with one shard, and one with several, each with one stream and all \
            viewers. All threads of a platform share a processor unless an option changes that, so the results \
            differ by the work only.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 1_000

    @Option(help: "Number of shards.")
    var shards = 2

    @Option(help: "Number of alternating rounds.")
    var rounds = 3

    @Option(help: "Seconds of each round.")
    var seconds = 6

    @Flag(help: "Do not pin threads to processors.")
    var unpinned = false

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...20_000).contains(viewers), (2...64).contains(shards), rounds > 0, seconds > 0 else {
            throw ValidationError(
                "--viewers must be 1 to 20000, --shards 2 to 64; --rounds and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        var measuredRounds: [Int: [FanOutRound]] = [:]
        for number in 1...rounds {
            for count in [1, shards] {
                let round = try await measureRound(shards: count)
                measuredRounds[count, default: []].append(round)
                report.row("\(number): \(count) shards", round.row, pass: !round.isVoid)
            }
        }
        let (one, several) = (
            measuredRounds[1].flatMap(FanOutRound.median), measuredRounds[shards].flatMap(FanOutRound.median)
        )
        let all = measuredRounds.values.flatMap { $0 }
        try report.finish(
            [
                ("viewers", Double(viewers)), ("shards", Double(shards)), ("onePerPacket", one),
                ("severalPerPacket", several), ("ratioToOne", one.flatMap { one in several.map { $0 / one } }),
                ("missing", Double(all.reduce(0) { $0 + $1.missing })),
                ("unauthentic", Double(all.reduce(0) { $0 + $1.unauthentic })),
                ("idle", Double(all.reduce(0) { $0 + $1.idle })),
                ("loadOfProcessor", all.map(\.loadShare).max()),
            ],
            targets: [
                Target("ratioToOne", .atMost(1.1)), Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)),
                Target("idle", .exactly(0)),
            ])
    }

    private func measureRound(shards: Int) async throws -> FanOutRound {
        let broadcast = try await Broadcast.start(
            of: .even, viewers: viewers, decryptsEach: viewers > 1_000 ? 8 : 1, isPinned: !unpinned, shards: shards)
        defer { broadcast.stop() }
        return try await broadcast.measure(seconds: seconds).round
    }
}

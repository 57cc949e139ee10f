import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench scaling` compares the gain of several CPUs with that of a minimal C program.
struct ScalingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scaling",
        abstract: "Compare the gain by several processors of the SFU with that of a minimal C program.",
        discussion: """
            For each shard, a stream whose forwarding uses most of a processor is sent to viewers that read nothing. \
            The kernel drops the packets for them, so all processors are available to the platform. One shard has \
            one processor, several have all, and each has the same number of viewers. In alternating rounds, as many \
            processes of a minimal C program send the same packets, each on one processor. The result has what several \
            processors gain over one, for the SFU and for the C program. If the time per packet is equal, the \
            throughput is proportional to the number of shards.
            """)

    @Option(help: "Number of viewers of each shard.")
    var viewers = 1_000

    @Option(help: "Number of shards, and of processes of the C program.")
    var shards = 2

    @Option(help: "Number of alternating rounds.")
    var rounds = 5

    @Option(help: "Seconds of each round, at most 3.")
    var seconds = 3

    @Option(help: "Path of the C source file, which is compiled and measured.")
    var source = "scripts/fanout-limit.c"

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (100...20_000).contains(viewers), (2...64).contains(shards), rounds > 0, (1...3).contains(seconds) else {
            throw ValidationError(
                "--viewers must be 100 to 20000, --shards 2 to 64, --rounds at least 1, and --seconds 1 to 3.")
        }
        guard shards <= Processor.count else {
            throw ValidationError("This host has \(Processor.count) processors: --shards must be at most that number.")
        }
    }

    func run() async throws {
        var report = Report(options)
        // A frame as viewers receive it: eight packets with 36 bytes that are not encrypted.
        let limit = try LimitProgram(
            source, profile: Array(repeating: "36:1200", count: 8).joined(separator: " ") + "\n")
        defer { limit.remove() }
        let cipher = LimitProgram.Cipher.allCases.last { limit.has($0) } ?? .evp
        var relay: [Int: [Double]] = [:]
        var program: [Int: [Double]] = [:]
        for number in 1...rounds {
            for count in [1, shards] {
                let own = try await NonReadingViewers.measurePlatform(
                    shards: count, viewersOfEach: viewers, seconds: seconds)
                let least = try await NonReadingViewers.limit(
                    limit, cipher, processes: count, viewersOfEach: viewers, seconds: seconds)
                relay[count, default: []].append(Double(own.perPacket.nanoseconds))
                program[count, default: []].append(Double(least.perPacket.nanoseconds))
                report.row(
                    "\(number): \(count)",
                    [
                        ("relayPerPacket", relay[count]?.last), ("ofProcessors", own.share),
                        ("cPerPacket", program[count]?.last), ("cOfProcessors", least.share),
                    ], pass: own.share < 0.9)
            }
        }
        let gain = { (turns: [Int: [Double]]) -> Double? in
            guard let one = turns[1].flatMap({ Percentile.of($0, 0.5) }),
                let several = turns[shards].flatMap({ Percentile.of($0, 0.5) })
            else { return nil }
            return Double(shards) * one / several
        }
        let (own, least) = (gain(relay), gain(program))
        try report.finish(
            [
                ("viewers", Double(viewers)), ("shards", Double(shards)), ("gain", own), ("gainOfC", least),
                ("gainToC", own.flatMap { own in least.map { own / $0 } }),
            ], targets: [Target("gainToC", .atLeast(0.95))])
    }
}

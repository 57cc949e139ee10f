import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench headline` repeats the livestream benchmark that LiveKit publishes: one stream for 3,000 viewers.
struct HeadlineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "headline",
        abstract: "Repeat LiveKit's livestream benchmark: one stream for 3,000 viewers.",
        discussion: """
            LiveKit publishes this result for a machine with 16 processors: 560,962 packets and 531 MB sent in a \
            second, with 92 % of the processors used (docs.livekit.io, “Benchmarking”). Here the packets have the same \
            number and size for each viewer. The viewers run on the same machine, so everything passes the loopback \
            interface, and no network card takes part. The load generator needs a second processor.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 3_000

    @Option(help: "Seconds of the measurement.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...20_000).contains(viewers), (1...3_600).contains(seconds) else {
            throw ValidationError("--viewers must be 1 to 20000, and --seconds 1 to 3600.")
        }
    }

    func run() async throws {
        let report = Report(options)
        let broadcast = try await Broadcast.start(of: .liveKitLivestream, viewers: viewers, decryptsEach: 8)
        defer { broadcast.stop() }
        let measurement = try await broadcast.measure(seconds: seconds)
        let round = measurement.round
        let packetsPerSecond = Double(round.packets) / round.elapsed.seconds
        try report.finish(
            [
                "viewers": Double(viewers),
                "framesPerSecond": Double(measurement.publishing.frames) / round.elapsed.seconds,
                "packetsPerSecond": packetsPerSecond,
                "megabytesPerSecond": packetsPerSecond * broadcast.arrivals.meanSize / 1_000_000,
                "processors": round.share, "viewersPerProcessor": Double(viewers) / round.share,
                "delayP50": measurement.delays.percentile(0.5), "delayP99": measurement.delays.percentile(0.99),
                "missing": Double(round.missing), "unauthentic": Double(round.unauthentic),
                "idle": Double(round.idle), "memoryPerViewer": broadcast.memoryPerViewer,
                "ownDrops": Double(round.ownDrops), "loadOfProcessor": round.loadShare,
            ],
            targets: [
                // A publisher that does not get enough processor time sends less than the benchmark's stream.
                Target("framesPerSecond", .atLeast(29)), Target("missing", .exactly(0)),
                Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
            ])
    }
}

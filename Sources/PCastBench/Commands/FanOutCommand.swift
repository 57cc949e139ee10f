import ArgumentParser
import Foundation
import PCastCore
import PCastIO

/// `pcast-bench fanout` measures the SFU's CPU time per forwarded packet.
struct FanOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Processor time of the relay for each forwarded packet, beside the least that it can be in C.",
        discussion: """
            The platform is a process of its own, and has a processor of its own; its time is the kernel's account of all \
            of its threads. One light publisher sends packets of given sizes; real viewers decrypt what comes, look \
            whether it is authentic, in order and complete, and report as viewers do: a receiver report each second, \
            arrivals each 100 ms. In turns with it a program in C does the same work and nothing else, for the same \
            addresses: it encrypts the same sizes, sends the packets of a frame together, and decrypts the same reports. \
            Where Janus is installed, it forwards the same packets to the same kind of viewers in turns with both, in a \
            network of its own (needs root).
            """)

    @Option(help: "How many viewers.")
    var viewers = 200

    @Option(help: "Turns of each.")
    var rounds = 5

    @Option(help: "Seconds of each turn.")
    var seconds = 6

    @Option(help: "The packets: even (1200 bytes), or chromium, as a browser sent them.")
    var sizes = SizesArgument.even

    @Option(help: "Viewers decrypt one packet of so many; 1 up to 1000 viewers, then 8.")
    var decryptEach: Int?

    @Flag(help: "Let the kernel choose the processors.")
    var unpinned = false

    @Flag(help: "Without the program in C.")
    var alone = false

    @Flag(
        inversion: .prefixedNo,
        help: "Janus in turns with it; up to 200 viewers where it is installed, if not told otherwise.")
    var janus: Bool?

    @Option(help: "Where the program in C is.")
    var source = "scripts/fanout-limit.c"

    @OptionGroup var options: ReportOptions

    enum SizesArgument: String, ExpressibleByArgument, CaseIterable {
        case even, chromium

        func shape() throws -> StreamShape {
            self == .even ? .even : try StreamShape(recordedIn: "scripts/chromium.sizes")
        }
    }

    func validate() throws {
        if janus == true, !JanusServer.isInstalled {
            throw ValidationError("Janus is not installed; see scripts/peers.")
        }
        guard (1...20_000).contains(viewers), rounds > 0, seconds > 0, decryptEach ?? 1 > 0 else {
            throw ValidationError("--viewers is from 1 to 20000; --rounds, --seconds and --decrypt-each at least 1.")
        }
    }

    private var hasJanus: Bool { janus ?? (JanusServer.isInstalled && geteuid() == 0 && viewers <= 200) }

    private var sample: Int { decryptEach ?? (viewers > 1_000 ? 8 : 1) }

    func run() async throws {
        if hasJanus { try SealedNetwork.enter() }
        var report = Report(options)
        let broadcast = try await Broadcast.start(
            of: try sizes.shape(), viewers: viewers, decryptsEach: sample, isPinned: !unpinned)
        defer { broadcast.stop() }
        var measured = FanOutMeasurement(broadcast, seconds: seconds, sample: sample)
        let limit = alone ? nil : try LimitProgram(source, shape: broadcast.arrivals.text)
        defer { limit?.remove() }
        let rival =
            hasJanus
            ? try await JanusBroadcast.start(
                of: sizes.shape(), viewers: viewers, decryptsEach: sample, isPinned: !unpinned) : nil
        defer { rival?.stop() }
        try await measured.run(rounds: rounds, limit: limit, janus: rival, &report)
        try report.finish(
            measured.figures + [
                ("bytesPerPacket", broadcast.arrivals.meanSize), ("memoryPerViewer", broadcast.memoryPerViewer),
            ], targets: targets)
    }

    private var targets: [Target] {
        [
            Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
        ] + (alone ? [] : [Target("ratioToC", .atMost(1.35))])
            + (hasJanus ? [Target("ratioToJanus", .atLeast(15))] : [])
    }
}

import ArgumentParser
import Foundation
import PCastCore
import PCastIO

/// `pcast-bench fanout` measures the SFU's CPU time per forwarded packet.
struct FanOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Compare the SFU's CPU time per forwarded packet with that of a minimal C program.",
        discussion: """
            The platform is a separate process with its own processor. Its CPU time is that of all its threads as \
            reported by the kernel. A publisher without an encoder sends packets of given sizes. The viewers decrypt \
            them, check that they are authentic, in order and complete, and send a receiver report each second and \
            transport feedback each 100 ms. In alternating rounds, a minimal C program sends to the same addresses. It \
            encrypts packets of the same sizes, sends the packets of a frame together, and decrypts the same reports. \
            Its CPU time is a lower limit. If Janus is installed, it forwards the same packets to the same kind of \
            viewers in its own network namespace, which requires root.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 200

    @Option(help: "Number of alternating rounds.")
    var rounds = 5

    @Option(help: "Seconds of each round.")
    var seconds = 6

    @Option(help: "Packet sizes: even (1200 bytes), or chromium (recorded from the browser).")
    var sizes = SizesArgument.even

    @Option(help: "Viewers decrypt one packet in this many. (default: 1 up to 1000 viewers, otherwise 8)")
    var decryptEach: Int?

    @Flag(help: "Do not pin threads to processors.")
    var unpinned = false

    @Flag(help: "Leave out the C program.")
    var alone = false

    @Flag(
        inversion: .prefixedNo,
        help: "Compare with Janus. (default: if it is installed, up to 200 viewers)")
    var janus: Bool?

    @Option(help: "Path of the C source file, which is compiled and measured.")
    var source = "scripts/fanout-limit.c"

    @OptionGroup var options: ReportOptions

    enum SizesArgument: String, ExpressibleByArgument, CaseIterable {
        case even, chromium

        func profile() throws -> TrafficProfile {
            self == .even ? .even : try TrafficProfile(recordedIn: "scripts/chromium.sizes")
        }
    }

    func validate() throws {
        if janus == true, !JanusServer.isInstalled {
            throw ValidationError("Janus is not installed: run scripts/peers.")
        }
        guard (1...20_000).contains(viewers), rounds > 0, seconds > 0, decryptEach ?? 1 > 0 else {
            throw ValidationError("--viewers must be 1 to 20000; --rounds, --seconds and --decrypt-each at least 1.")
        }
    }

    private var hasJanus: Bool { janus ?? (JanusServer.isInstalled && geteuid() == 0 && viewers <= 200) }

    private var sample: Int { decryptEach ?? (viewers > 1_000 ? 8 : 1) }

    func run() async throws {
        if hasJanus { try IsolatedNetwork.enter() }
        var report = Report(options)
        let broadcast = try await Broadcast.start(
            of: try sizes.profile(), viewers: viewers, decryptsEach: sample, isPinned: !unpinned)
        defer { broadcast.stop() }
        var measured = FanOutMeasurement(broadcast, seconds: seconds, sample: sample)
        let limit = alone ? nil : try LimitProgram(source, profile: broadcast.arrivals.text)
        defer { limit?.remove() }
        let janus =
            hasJanus
            ? try await JanusBroadcast.start(
                of: sizes.profile(), viewers: viewers, decryptsEach: sample, isPinned: !unpinned) : nil
        defer { janus?.stop() }
        try await measured.run(rounds: rounds, limit: limit, janus: janus, &report)
        try report.finish(
            measured.metrics + [
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

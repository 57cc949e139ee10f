import Foundation
import PCastCore
import PCastIO
import PCastSFU
import PCastTestSupport
import PCastWebRTC
import Testing

/// One run of the program `PCastForwarding`, which is built beside the tests.
struct ForwardingRun {
    /// The counts that the program printed: `packets`, `runs`, `allocations`.
    let counts: [String: Int]

    var packets: Int { counts["packets"] ?? 0 }

    /// Whether the program is optimized. The tests are not, in no build, so that they cannot use `assert` to find out.
    #if DEBUG
        static let isOptimized = false
    #else
        static let isOptimized = true
    #endif

    /// The paths of programs of the system; nil if they are not installed.
    static let valgrind = installed("valgrind")
    static let compiler = installed("cc")
    /// The path of the program; nil if it was not built with the tests.
    static let program: String? = {
        let bundles = CommandLine.arguments.filter { $0.contains(".xctest") || $0.hasSuffix("PackageTests") }
        let repository = (1...3).reduce(#filePath) { path, _ in parent(path) }
        let folders =
            [Bundle.main.bundlePath] + bundles.map(parent) + [parent(CommandLine.arguments[0])]
            + ["release", "debug"].map { "\(repository)/.build/\($0)" }
        return folders.map { "\($0)/PCastForwarding" }.first(where: FileManager.default.isExecutableFile)
    }()
    static let allocationCounter = (1...3).reduce(#filePath) { path, _ in parent(path) } + "/scripts/malloc-counter.c"

    private static func parent(_ path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    private static func installed(_ name: String) -> String? {
        ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile)
    }

    /// Runs a program to its end, and reads its output as lines of `name=number`.
    init(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let output = try await Self.run(arguments, environment: environment)
        counts = output.split(separator: "\n").reduce(into: [:]) { counts, line in
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2, let number = Int(parts[1]) { counts[String(parts[0])] = number }
        }
    }

    struct Failure: Error {
        let command: String
        let output: String
    }

    /// Runs a program to its end and returns its output. The call waits on its own thread, because other tests need the
    /// shared ones.
    @discardableResult
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try output(of: arguments, environment: environment) })
            }
        }
    }

    private static func output(of arguments: [String], environment: [String: String]) throws -> String {
        let process = try FinishedProcess(
            running: arguments[0], Array(arguments.dropFirst()),
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
        guard process.hasSucceeded else {
            throw Failure(command: arguments.joined(separator: " "), output: process.text)
        }
        return process.text
    }
}

/// Frames from a publisher through the SFU to viewers, over good and bad networks.
struct ForwardingTests {
    private static let frameCount = 200

    struct Case: Sendable, CustomTestStringConvertible {
        let codec: Codec
        let loss: Int
        let seed: UInt64
        var testDescription: String { "\(codec), \(loss) % lost, seed \(seed)" }
    }

    private static let cases: [Case] = (1...20).map { seed in
        Case(
            codec: [.h264, .vp8, .vp9, .av1, .h265][seed % 5], loss: [0, 2, 5][seed % 3], seed: UInt64(seed))
    }

    @Test(
        "frames arrive complete and in order, and lost video packets are retransmitted on both hops",
        arguments: cases)
    func forwards(_ example: Case) throws {
        let network = VirtualNetwork(seed: example.seed)
        network.link.loss = example.loss
        network.link.jitter = .milliseconds(8)
        network.link.duplication = 2
        let publisher = try network.publish(example.codec)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(example.codec, seed: example.seed)
        broadcast.send(Self.frameCount, from: publisher, by: network)
        // More frames follow, so that the loss of the last ones is detected.
        broadcast.send(50, from: publisher, by: network)
        network.run(for: .seconds(1 as Int64))

        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        #expect(seen == Set(seen).sorted() && !seen.contains(-1))
        #expect(seen.count { $0 < Self.frameCount } >= Self.frameCount * (100 - 8 * example.loss) / 100)
        #expect(viewer.video.allSatisfy { broadcast.isSame($0.frame) })
        #expect(broadcast.keepsTime(viewer.video.map(\.frame)))

        let heard = viewer.audio.map { broadcast.number(of: $0) ?? -1 }
        #expect(heard == Set(heard).sorted() && !heard.contains(-1))
        #expect(heard.count { $0 < Self.frameCount } >= Self.frameCount * (100 - 4 * example.loss) / 100)
        #expect(broadcast.keepsTime(viewer.audio))
        #expect(viewer.gaps.count == 0 || example.loss > 0)
        #expect(network.events.contains(.mediaStarted(publisher.id)))
    }
}

/// The cost of forwarding a packet, which is counted rather than timed, so that it does not depend on the machine's
/// load.
///
/// The program runs the SFU, its publisher and its viewers in memory. The limits are a fifth above the counts in
/// `docs/MEASUREMENTS.md`. A change that exceeds them makes forwarding more expensive.
@Suite(
    "Forwarding a packet", .serialized,
    .enabled(
        if: ForwardingRun.isOptimized && ForwardingRun.program != nil,
        "left out: the cost of forwarding: this is no release build with PCastForwarding"))
struct ForwardingCostTests {
    private let program = ForwardingRun.program ?? ""

    /// The limits of instructions per packet: of the project's code, including a tenth of receiving a publisher's
    /// packet, and of all code except OpenSSL's library.
    private static let limit = (own: 3_300, beside: 4_300)

    @Test(
        "forwarding takes a bounded number of instructions",
        .enabled(
            if: ForwardingRun.valgrind != nil, "left out: instructions per packet: valgrind is not installed"))
    func instructions() async throws {
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).out")
        defer { try? FileManager.default.removeItem(at: profile) }
        let run = try await ForwardingRun([
            ForwardingRun.valgrind ?? "", "--tool=callgrind", "--callgrind-out-file=\(profile.path)",
            "--toggle-collect=*counted*", program, "10", "500",
        ])
        let count = InstructionCount(try String(contentsOf: profile, encoding: .utf8))
        let packets = run.packets
        #expect(packets > 1_000)
        let own = (count.of("PCastForwarding") + count.of("libswiftCore")) / max(1, packets)
        let beside = (count.total - count.of("libcrypto")) / max(1, packets)
        #expect(own > 500, "the instructions were not counted")
        #expect(own < Self.limit.own)
        #expect(beside < Self.limit.beside)
    }

    @Test(
        "forwarding allocates no memory",
        .enabled(if: ForwardingRun.compiler != nil, "left out: allocations per packet: no C compiler is installed"))
    func allocations() async throws {
        let counter = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).so")
        defer { try? FileManager.default.removeItem(at: counter) }
        try await ForwardingRun.run([
            ForwardingRun.compiler ?? "", "-O2", "-shared", "-fPIC", "-o", counter.path,
            ForwardingRun.allocationCounter,
        ])
        let run = try await ForwardingRun([program, "10", "2000"], environment: ["LD_PRELOAD": counter.path])
        let allocations = try #require(run.counts["allocations"])
        // Reports and the publisher's frames allocate, but packets do not.
        #expect(run.packets > 5_000)
        #expect(Double(allocations) / Double(run.packets) < 0.05)
    }
}

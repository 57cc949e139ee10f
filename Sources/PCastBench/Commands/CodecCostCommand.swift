import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastTestSupport

/// `pcast-bench codec-cost` compares the SFU's work for AV1 with dependency descriptors with that for H.264.
struct CodecCostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "codec-cost",
        abstract: "Count the SFU's instructions and allocations per forwarded packet of H.264 and AV1.",
        discussion: """
            In memory and on virtual time: a publisher of 1.3 Mbit/s with a key frame in each second, the SFU, and viewers, \
            with real keys. The packets of AV1 have dependency descriptors with two temporal layers, which every viewer \
            receives. Callgrind (valgrind) counts the instructions, including those for the publisher's packets, and a \
            preloaded library the allocations. A C compiler (cc) and strip are required.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 20

    @Option(help: "Milliseconds of virtual time to count.")
    var milliseconds = 1_000

    @Option(help: ArgumentHelp("Source file of the allocation counter. (default: that of this build)"))
    var counter: String?

    @OptionGroup var options: ReportOptions

    /// The instructions for AV1 must not exceed those for H.264 by more than a tenth. Allocations once per second or less
    /// often stay below the limit, such as those of a key frame with its structure.
    private static let targets = [
        Target("ratio", .atMost(1.1)), Target("av1AllocationsPerPacket", .atMost(0.01)),
        Target("h264AllocationsPerPacket", .atMost(0.01)),
    ]

    func validate() throws {
        guard (1...1_000).contains(viewers), (100...60_000).contains(milliseconds) else {
            throw ValidationError("--viewers must be 1 to 1000, and --milliseconds 100 to 60000.")
        }
    }

    func run() async throws {
        try AllocationCounter.load(source: counter ?? AllocationsCommand.source)
        AllocationCounter.removeFile()
        var report = Report(options)
        let h264 = try measure(.h264, &report)
        let av1 = try measure(.av1, &report)
        try report.finish(
            [
                "viewers": Double(viewers), "h264InstructionsPerPacket": h264.instructions,
                "av1InstructionsPerPacket": av1.instructions, "ratio": av1.instructions / h264.instructions,
                "h264AllocationsPerPacket": h264.allocations, "av1AllocationsPerPacket": av1.allocations,
            ], targets: Self.targets)
    }

    /// Returns the instructions beside OpenSSL's library, and the allocations, for each forwarded packet.
    private func measure(
        _ codec: Codec, _ report: inout Report
    ) throws -> (instructions: Double, allocations: Double) {
        let forwarding = try CodecForwarding(codec, viewers: viewers)
        forwarding.measure(for: .milliseconds(Int64(milliseconds)))
        guard forwarding.sent > 0, forwarding.forwarded >= forwarding.sent * viewers * 95 / 100 else {
            throw BenchFailure(
                "the SFU forwarded \(forwarding.forwarded) packets instead of \(forwarding.sent) to \(viewers) viewers")
        }
        let packets = Double(forwarding.forwarded)
        let count = try instructions(codec)
        let library = Double(count.of("libcrypto"))
        let others = Double(count.total) - library
        report.row(
            codec == .av1 ? "AV1 with the descriptor" : "H.264",
            [
                "packets": packets, "instructions": others / packets, "OpenSSL": library / packets,
                "allocations": Double(forwarding.allocations) / packets,
            ])
        return (others / packets, Double(forwarding.allocations) / packets)
    }

    /// Lets Callgrind count the instructions of the same run in another process. The program has no debug information
    /// there, which valgrind 3.19 cannot read.
    private func instructions(_ codec: Codec) throws -> InstructionCount {
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).out")
        defer { try? FileManager.default.removeItem(at: profile) }
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: program) }
        try SystemProgram.run("strip", ["--strip-debug", "-o", program.path, own])
        var environment = ProcessInfo.processInfo.environment
        environment["LD_PRELOAD"] = nil
        // Libraries may be beside the program.
        let folder = URL(fileURLWithPath: own).deletingLastPathComponent().path
        environment["LD_LIBRARY_PATH"] = [folder, environment["LD_LIBRARY_PATH"]].compactMap(\.self)
            .joined(separator: ":")
        let process = try FinishedProcess(
            running: "/usr/bin/env",
            [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(profile.path)",
                "--toggle-collect=\(CodecForwarding.countedNames)", program.path, CodecCostWorkerCommand.name,
                "--codec",
                codec == .av1 ? "av1" : "h264", "--viewers", "\(viewers)", "--milliseconds", "\(milliseconds)",
            ], environment: environment, recording: .both)
        guard process.hasSucceeded else {
            throw BenchFailure("valgrind cannot count instructions; is it installed?\n\(process.text.suffix(2_000))")
        }
        let count = InstructionCount(try String(contentsOf: profile, encoding: .utf8))
        guard count.total > 0 else { throw BenchFailure("valgrind counted no instructions") }
        return count
    }
}

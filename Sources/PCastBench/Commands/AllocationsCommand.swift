import ArgumentParser
import Foundation
import PCastCore

/// `pcast-bench allocations` measures memory allocations per packet.
struct AllocationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allocations",
        abstract: "Measure allocations per packet in the steady state, in the SFU and both endpoints.",
        discussion: """
            In memory and on virtual time: a publisher of 720p30 with audio, the SFU, and viewers, with real keys. \
            Every call of malloc and similar functions is counted, also for checks and reports. A C compiler (cc) is \
            required.
            """)

    enum Part: String, CaseIterable, ExpressibleByArgument { case send, relayIn, relayOut, receive }

    @Option(help: "Number of viewers of the SFU.")
    var viewers = 10

    @Option(help: "Seconds of virtual time to count, after ten that are not counted.")
    var seconds = 20

    @Option(
        help: "Print the call stacks of this part's allocations to standard error: \(Part.allCases.map(\.rawValue)).")
    var trace: Part?

    @Option(help: ArgumentHelp("Source file of the allocation counter. (default: that of this build)"))
    var counter: String?

    @OptionGroup var options: ReportOptions

    /// The path of scripts/malloc-counter.c.
    private static var source: String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return folder.appendingPathComponent("../../../scripts/malloc-counter.c").standardized.path
    }

    /// The limit of allocations per packet. Allocations once per second or less often stay below it.
    private static let limit = Target.Bound.atMost(0.01)

    private static let targets = [
        Target("allocationsPerPacket", limit), Target("sendAllocationsPerPacket", limit),
        Target("receiveAllocationsPerPacket", limit),
    ]

    func validate() throws {
        guard (1...10_000).contains(viewers), seconds > 0 else {
            throw ValidationError("--viewers must be 1 to 10000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        try AllocationCounter.load(source: counter ?? Self.source)
        AllocationCounter.removeFile()
        var report = Report(options)
        let tolls = try measure()
        let relay = tolls.relayIn + tolls.relayOut
        tell("publisher sends", tolls.send, &report)
        tell("relay receives", tolls.relayIn, isJudged: false, &report)
        tell("relay forwards", tolls.relayOut, isJudged: false, &report)
        tell("relay, both", relay, &report)
        tell("viewer receives", tolls.receive, &report)
        report.row(
            "viewer takes frames",
            [
                "frames": Double(tolls.frames.frames), "allocations": Double(tolls.frames.allocations),
                "perFrame": tolls.frames.allocationsPerFrame,
            ])
        try report.finish(
            [
                "viewers": Double(viewers), "allocationsPerPacket": relay.allocationsPerPacket,
                "sendAllocationsPerPacket": tolls.send.allocationsPerPacket,
                "receiveAllocationsPerPacket": tolls.receive.allocationsPerPacket,
                "sendAllocationsPerFrame": tolls.send.allocationsPerFrame,
                "receiveAllocationsPerFrame": tolls.frames.allocationsPerFrame,
            ], targets: Self.targets)
    }

    private func measure() throws -> MemoryBroadcast.Tolls {
        let broadcast = try MemoryBroadcast(viewers: viewers)
        try broadcast.run(for: .seconds(10))
        switch trace {
        case .send: broadcast.sendMeter.tracing = 40
        case .relayIn: broadcast.relayInMeter.tracing = 40
        case .relayOut: broadcast.relayOutMeter.tracing = 40
        case .receive: broadcast.receiveMeter.tracing = 40
        case nil: break
        }
        broadcast.beginMetering()
        try broadcast.run(for: .seconds(Int64(seconds)))
        return broadcast.tolls
    }

    private func tell(_ name: String, _ toll: Toll, isJudged: Bool = true, _ report: inout Report) {
        report.row(
            name,
            [
                "packets": Double(toll.packets), "allocations": Double(toll.allocations),
                "perPacket": toll.allocationsPerPacket,
            ], pass: isJudged ? Target("", Self.limit).holds(for: toll.allocationsPerPacket) : nil)
    }
}

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
    static var source: String {
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
        let costs = try measure()
        let relay = costs.relayIn + costs.relayOut
        addRow("publisher sends", costs.send, &report)
        addRow("relay receives", costs.relayIn, isJudged: false, &report)
        addRow("relay forwards", costs.relayOut, isJudged: false, &report)
        addRow("relay, both", relay, &report)
        addRow("viewer receives", costs.receive, &report)
        report.row(
            "viewer takes frames",
            [
                "frames": Double(costs.frames.frames), "allocations": Double(costs.frames.allocations),
                "perFrame": costs.frames.allocationsPerFrame,
            ])
        try report.finish(
            [
                "viewers": Double(viewers), "allocationsPerPacket": relay.allocationsPerPacket,
                "sendAllocationsPerPacket": costs.send.allocationsPerPacket,
                "receiveAllocationsPerPacket": costs.receive.allocationsPerPacket,
                "sendAllocationsPerFrame": costs.send.allocationsPerFrame,
                "receiveAllocationsPerFrame": costs.frames.allocationsPerFrame,
            ], targets: Self.targets)
    }

    private func measure() throws -> MemoryBroadcast.WorkCosts {
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
        return broadcast.costs
    }

    private func addRow(_ name: String, _ cost: WorkCost, isJudged: Bool = true, _ report: inout Report) {
        report.row(
            name,
            [
                "packets": Double(cost.packets), "allocations": Double(cost.allocations),
                "perPacket": cost.allocationsPerPacket,
            ], pass: isJudged ? Target("", Self.limit).holds(for: cost.allocationsPerPacket) : nil)
    }
}

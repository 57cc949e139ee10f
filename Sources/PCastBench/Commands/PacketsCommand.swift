import ArgumentParser
import PCastCore

/// `pcast-bench packets` measures the SFU's own CPU time per forwarded packet, without the kernel.
struct PacketsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "packets",
        abstract: "Measure the SFU's CPU time per forwarded packet without sockets.",
        discussion: """
            In memory and on virtual time, as “allocations”: packets are decrypted, stored, and encrypted for each \
            viewer. The kernel's time for sending them is not included.
            """)

    @Option(help: "Number of viewers. (default: 1, 10 and 200)")
    var viewers: Int?

    @Option(help: "Seconds of virtual time to measure.")
    var seconds = 10

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard viewers.map({ (1...10_000).contains($0) }) ?? true, seconds > 0 else {
            throw ValidationError("--viewers must be 1 to 10000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        var last: Double?
        for count in viewers.map({ [$0] }) ?? [1, 10, 200] {
            let broadcast = try MemoryBroadcast(viewers: count)
            try broadcast.run(for: .seconds(1))
            broadcast.beginMetering()
            try broadcast.run(for: .seconds(Int64(seconds)))
            let costs = broadcast.costs
            let nanoseconds = costs.relayIn.nanoseconds + costs.relayOut.nanoseconds
            last = Double(nanoseconds) / Double(max(1, costs.relayOut.packets))
            report.row(
                "\(count) viewers",
                [
                    "viewers": Double(count), "packets": Double(costs.relayOut.packets),
                    "receivePerPacket": costs.relayIn.nanosecondsPerPacket,
                    "forwardPerPacket": costs.relayOut.nanosecondsPerPacket, "perForwardedPacket": last,
                ])
        }
        try report.finish(["nanosecondsPerPacket": last], targets: [])
    }
}

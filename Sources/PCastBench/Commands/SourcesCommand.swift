import ArgumentParser
import Foundation
import PCastCore
import PCastIO

/// `pcast-bench sources` measures declared sources that nobody watches.
struct SourcesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sources",
        abstract: "Measure the CPU time and memory of declared sources that are opened on demand, without viewers.",
        discussion: """
            A platform with the declarations is compared with one that has none. “share” is that of a core. “processes” \
            are those that the platform has started: a source without viewers has none. The start of sources is not \
            measured.
            """)

    @Option(help: "Number of declared sources.")
    var sources = 200

    @Option(help: "Seconds of each measurement.")
    var seconds = 10

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...10_000).contains(sources), (1...600).contains(seconds) else {
            throw ValidationError("--sources must be 1 to 10000, and --seconds 1 to 600.")
        }
    }

    /// The cost of a platform.
    private struct Cost {
        let share: Double
        let wakeUps: Double
        let memory: Double
        let processes: Double
    }

    func run() async throws {
        var report = Report(options)
        let none = try await measure(0, &report)
        let declared = try await measure(sources, &report)
        try report.finish(
            [
                ("idleShare", declared.share - none.share), ("idleWakeUpsPerSecond", declared.wakeUps - none.wakeUps),
                ("memoryPerSource", (declared.memory - none.memory) / Double(sources)),
                ("processes", declared.processes),
            ],
            targets: [
                Target("idleShare", .within(0.002)), Target("memoryPerSource", .atMost(20_000)),
                Target("processes", .exactly(0)),
            ])
    }

    /// Returns the declarations for the configuration file.
    static func declarations(_ count: Int) -> String {
        guard count > 0 else { return "" }
        let streams = (1...count).map { number in
            "  source-\(number):\n    source: rtsp://127.0.0.1:9/\(number)\n    onDemand: true\n"
        }
        return "streams:\n" + streams.joined()
    }

    /// Measures a platform with declared sources, and ends it. Throws `BenchFailure` if it does not start.
    private func measure(_ count: Int, _ report: inout Report) async throws -> Cost {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-sources-\(getpid()).yaml")
        try Data(Self.declarations(count).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try PCastProcess(
            ["serve", "--config", file.path, "--listen", "127.0.0.1:0", "--rtc-port", "0"],
            environment: ["PCAST_SERVE_APPLICATION": "bench:\(UInt64.random(in: 0...UInt64.max))"])
        defer { process.stop() }
        _ = try await process.next("listening")
        // The work of the start ends within this time.
        try await Task.sleep(for: .seconds(3))
        let (time, wakeUps, start) = (
            Processor.time(of: process.processID), Processor.wakeUps(of: process.processID), MonotonicClock.now()
        )
        try await Task.sleep(for: .seconds(seconds))
        let elapsed = (MonotonicClock.now() - start).seconds
        let cost = Cost(
            share: (Processor.time(of: process.processID) - time).seconds / elapsed,
            wakeUps: Double(Processor.wakeUps(of: process.processID) - wakeUps) / elapsed,
            memory: Processor.residentMemory(of: process.processID) ?? 0,
            processes: Double(Processor.children(of: process.processID).count))
        report.row(
            "\(count) sources",
            [
                "share": cost.share, "wakeUps": cost.wakeUps, "memory": cost.memory, "processes": cost.processes,
            ])
        return cost
    }
}

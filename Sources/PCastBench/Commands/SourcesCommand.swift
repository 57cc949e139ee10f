import ArgumentParser
import Foundation
import PCastCore
import PCastIO

/// `pcast-bench sources` measures declared sources that nobody watches, and the start of many at the same time.
struct SourcesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sources",
        abstract: "Measure declared sources that are opened on demand: their cost without viewers, and their start.",
        discussion: """
            A platform with the declarations is compared with one that has none. “share” is that of a core. “processes” \
            are those that the platform has started: a source without viewers has none.

            Then one source is started after another, and further ones (--starts) at the same time, each by a viewer. \
            They play a film, which ffmpeg makes. The times are those from a viewer's first request to its first \
            frame, in milliseconds. A viewer whose source is not ready requests it again. “bound” is the time of the slowest one that \
            the processors allow: the CPU time of all starts, divided by the number of processors, but at least \
            the time of one source alone. Sources delay one another if the slowest one takes longer than that.

            At last, the first of two encoders of a stream with a standby is stopped and continued again and again \
            (--switches). “takeover” and “return” are the longest times without a frame at a viewer, in milliseconds.
            """)

    @Option(help: "Number of declared sources.")
    var sources = 200

    @Option(help: "Seconds of each measurement.")
    var seconds = 10

    @Option(help: "Number of sources that are started at the same time; 0 for none.")
    var starts = 200

    @Option(help: "Number of times that a standby takes over; 0 for none.")
    var switches = 10

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...10_000).contains(sources), (1...600).contains(seconds), (0...1_000).contains(starts) else {
            throw ValidationError("--sources must be 1 to 10000, --seconds 1 to 600, and --starts at most 1000.")
        }
        guard (0...1_000).contains(switches) else { throw ValidationError("--switches must be at most 1000.") }
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
        var metrics: [(key: String, value: Double?)] = [
            ("idleShare", declared.share - none.share), ("idleWakeUpsPerSecond", declared.wakeUps - none.wakeUps),
            ("memoryPerSource", (declared.memory - none.memory) / Double(sources)),
            ("processes", declared.processes),
        ]
        var targets = [
            Target("idleShare", .within(0.002)), Target("memoryPerSource", .atMost(20_000)),
            Target("processes", .exactly(0)),
        ]
        if starts > 0 {
            let result = try await SourceStarts(count: starts).measure(&report)
            let started: [(key: String, value: Double?)] = [
                ("aloneP50", result.alone), ("firstFrameP50", Percentile.of(result.times, 0.5)),
                ("firstFrameP95", Percentile.of(result.times, 0.95)), ("slowest", result.times.max()),
                ("slowestToBound", result.times.max().map { $0 / result.bound }),
                ("withoutVideo", Double(starts - result.times.count)),
            ]
            metrics += started
            targets += [Target("slowestToBound", .atMost(1.5)), Target("withoutVideo", .exactly(0))]
        }
        if switches > 0 {
            let result = try await StandbySwitches(count: switches).measure(&report)
            metrics += [
                ("takeoverP50", Percentile.of(result.takeovers, 0.5)), ("takeoverSlowest", result.takeovers.max()),
                ("returnP50", Percentile.of(result.returns, 0.5)), ("returnSlowest", result.returns.max()),
            ]
            targets += [
                Target("takeoverP50", .atMost(300)), Target("takeoverSlowest", .atMost(1_000)),
                Target("returnP50", .atMost(300)), Target("returnSlowest", .atMost(1_000)),
            ]
        }
        try report.finish(metrics, targets: targets)
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

/// The start of many declared sources at the same time, compared with that of one alone.
private struct SourceStarts {
    let count: Int

    struct Result {
        /// The median time from the request to the first frame of a source that is started alone, in milliseconds.
        let alone: Double
        /// The times of the sources that were started at the same time, in milliseconds, without those that failed.
        let times: [Double]
        /// The time that the processors allow the slowest one, in milliseconds.
        let bound: Double
    }

    /// The number of sources that are started alone, one after another.
    private static let aloneCount = 3
    /// The time within which all sources must have been started.
    private static let limit = TimeSpan.seconds(180)
    /// The time after which a viewer whose source is not ready retries, as `Retry-After` tells it.
    private static let retryDelay = Duration.seconds(1)

    /// Measures the starts at a platform of its own. Throws `BenchFailure` if it does not start, or if a source that is
    /// started alone fails.
    func measure(_ report: inout Report) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-sources-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = (0..<Self.aloneCount + count).map { "source-\($0)" }
        let setup = try await start(names, in: folder)
        defer { setup.stop() }
        let viewers = try LoadViewers(decryptsEach: 1)
        defer { viewers.leave() }
        for number in 0..<Self.aloneCount {
            try await join(number, names[number], viewers, setup)
            try await viewers.waitUntilWatching(number + 1, within: Self.limit)
        }
        let alone = await viewers.waits().compactMap { $0?.milliseconds }
        guard alone.count == Self.aloneCount, let median = Percentile.of(alone, 0.5) else {
            throw BenchFailure("a source that was started alone sent no media")
        }
        let (before, began) = (Self.processorTime(of: setup.platform.processID), MonotonicClock.now())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in Self.aloneCount..<names.count {
                group.addTask { try await join(number, names[number], viewers, setup) }
            }
            try await group.waitForAll()
        }
        // Viewers without a frame are counted below.
        try? await viewers.waitUntilWatching(names.count, within: .seconds(10))
        let used = (Self.processorTime(of: setup.platform.processID) - before).milliseconds
        let times = await viewers.waits().dropFirst(Self.aloneCount).compactMap { $0?.milliseconds }
        let bound = max(median, used / Double(Processor.count))
        report.row(
            "\(count) at once",
            [
                "alone": median, "p50": Percentile.of(times, 0.5), "p95": Percentile.of(times, 0.95),
                "slowest": times.max(), "bound": bound, "took": (MonotonicClock.now() - began).milliseconds,
            ])
        return Result(alone: median, times: times, bound: bound)
    }

    /// Starts a platform whose sources play a film with a key frame each second.
    private func start(_ names: [String], in folder: URL) async throws -> FanOutSetup {
        let film = folder.appendingPathComponent("film.mp4").path
        _ = try ChildCost.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=300",
                "-c:v", "libx264", "-preset", "ultrafast", "-profile:v", "baseline", "-b:v", "200k", "-g", "30",
                "-pix_fmt", "yuv420p", film,
            ])
        let streams = names.map { "  \($0):\n    source: file://\(film)\n    onDemand: true\n" }
        let configuration = folder.appendingPathComponent("pcast.yaml")
        try Data(("streams:\n" + streams.joined()).utf8).write(to: configuration)
        return try await FanOutSetup.start(
            [
                "--config", configuration.path, "--media-directory", folder.path, "--max-jobs", "\(names.count)",
            ], isPinned: false)
    }

    /// Adds a viewer of a source, which retries while the source is not ready.
    private func join(_ number: Int, _ name: String, _ viewers: LoadViewers, _ setup: FanOutSetup) async throws {
        let stream = StreamID(name)
        let (token, requestedAt) = (try setup.viewingToken(stream), MonotonicClock.now())
        while true {
            do {
                return try await viewers.join(number, stream, token, at: setup, requestedAt: requestedAt)
            } catch is BenchFailure where MonotonicClock.now() - requestedAt < Self.limit {
                try await Task.sleep(for: Self.retryDelay)
            }
        }
    }

    /// The CPU time of a process and of all that it has started and that still run.
    private static func processorTime(of process: Int32) -> TimeSpan {
        Processor.children(of: process).reduce(Processor.time(of: process)) { $0 + processorTime(of: $1) }
    }
}

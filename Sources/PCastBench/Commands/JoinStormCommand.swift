import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench join-storm` measures many viewers that join at once or continuously.
struct JoinStormCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join-storm",
        abstract: "Measure joins within a second: the time to the first frame, and the effect on other viewers.",
        discussion: """
            An earlier viewer has to receive every frame. With --rate, viewers join at a steady rate for --seconds \
            and stay for three seconds each. The result is then the share of key frames in the publisher's media.
            """)

    @Option(help: "Number of viewers that join within one second.")
    var viewers = 500

    @Option(help: "Number of viewers that join each second, instead.")
    var rate: Int?

    @Option(help: "Seconds of joins at that rate.")
    var seconds = 60

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...20_000).contains(viewers), (1...5_000).contains(rate ?? 1), seconds > 0 else {
            throw ValidationError("--viewers must be 1 to 20000, --rate at most 5000, and --seconds at least 1.")
        }
        guard rate.map({ seconds <= 60_000 / $0 }) ?? true else {
            throw ValidationError(
                "--rate times --seconds must be at most 60000, because each viewer needs its own address.")
        }
    }

    private var targets: [Target] {
        [Target("framesMissedBefore", .exactly(0)), Target("packetsMissedBefore", .exactly(0))]
            + (rate == nil
                ? [Target("firstFrameP99", .atMost(1_000)), Target("withoutVideo", .exactly(0))]
                : [Target("keyFrameShare", .atMost(0.1))])
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(of: .even, viewers: 1, decryptsEach: 1)
        defer { broadcast.stop() }
        // The first viewer must receive everything that the publisher sends from now on.
        await broadcast.publishers.run(false)
        try await Task.sleep(for: .milliseconds(200))
        await broadcast.viewersLoad.begin()
        await broadcast.publishers.begin()
        await broadcast.publishers.run()
        let start = MonotonicClock.now()
        let count = rate.map { $0 * seconds } ?? viewers
        try await startJoins(count, each: .nanoseconds(Int64(1_000_000_000 / (rate ?? viewers))), broadcast)
        let deadline = MonotonicClock.now() + .seconds(60)
        while rate == nil, MonotonicClock.now() < deadline,
            await broadcast.viewersLoad.waits().contains(where: { $0 == nil })
        {
            try await Task.sleep(for: .milliseconds(50))
        }
        await broadcast.publishers.run(false)
        try await Task.sleep(for: .milliseconds(500))
        let before = await broadcast.viewersLoad.firstMetrics()
        let publishing = await broadcast.publishers.metrics()
        let waits = await broadcast.viewersLoad.waits().dropFirst()
        let times = waits.compactMap { $0?.milliseconds }
        report.row(
            "\(count) viewers",
            [
                "firstFrameP50": Percentile.of(times, 0.5), "firstFrameP99": Percentile.of(times, 0.99),
                "slowest": times.max(), "keyFrames": Double(publishing.keyFrames),
                "took": (MonotonicClock.now() - start).seconds, "ownDrops": Double(broadcast.ownDrops),
            ])
        try report.finish(
            [
                "viewers": Double(count), "firstFrameP50": Percentile.of(times, 0.5),
                "firstFrameP99": Percentile.of(times, 0.99), "withoutVideo": Double(waits.count - times.count),
                "framesMissedBefore": Double(publishing.frames - before.maximumFrames),
                "packetsMissedBefore": Double(before.missing),
                "keyFrameShare": Double(publishing.keyFrameBytes) / Double(max(1, publishing.bytes)),
                "ownDrops": Double(broadcast.ownDrops),
            ], targets: targets)
    }

    /// Starts each join at its time, whether previous ones have completed or not.
    private func startJoins(_ count: Int, each spacing: TimeSpan, _ broadcast: Broadcast) async throws {
        let stream = broadcast.publishers.streams[0]
        let token = try broadcast.setup.viewingToken(stream)
        let start = MonotonicClock.now()
        let viewingTime = rate == nil ? nil : TimeSpan.seconds(3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...count {
                let pause = start + spacing * Int64(number) - MonotonicClock.now()
                if pause > .zero { try await Task.sleep(for: .nanoseconds(pause.nanoseconds)) }
                group.addTask {
                    try await broadcast.viewersLoad.join(number, stream, token, at: broadcast.setup)
                }
                if let viewingTime, number % 50 == 0 {
                    await broadcast.viewersLoad.dismiss(joinedBefore: MonotonicClock.now() - viewingTime, after: 1)
                }
            }
            try await group.waitForAll()
        }
    }
}

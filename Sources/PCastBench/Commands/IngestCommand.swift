import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench ingest` measures RTMP publishers beside nginx-rtmp, joins to an encoder with rare key frames, or useless
/// connections.
struct IngestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Measure RTMP publishers beside nginx-rtmp, joins to an encoder, or useless connections.",
        discussion: """
            Each publisher sends H.264 with 30 frames per second and 2.5 Mbit/s, and AAC. There are no viewers. The \
            platform and nginx are measured one after the other. “share” is that of a core for each publisher. The \
            platform transcodes AAC in processes of their own, so “receiving” is without transcoding. Memory is that \
            beyond a server without publishers. Without nginx-rtmp (scripts/peers), only the platform is measured.

            With --joins, ffmpeg encodes as OBS does by default (x264 veryfast with 2.5 Mbit/s and B-frames, a key frame \
            each 250 frames), and publishes by RTMP. Viewers join one after another at random moments, through a link \
            with 10 Mbit/s and a round-trip time of 50 ms. “firstFrame” is the time from the request to the first frame, \
            and “behind” the latency in the third second after it, beyond that of a viewer without the link. Both are \
            in milliseconds.

            With --connections, this number of connections by RTMP and by SRT send nothing, random bytes or the beginning \
            of a handshake. The result is what remains of them in the platform.
            """)

    @Option(help: "Number of publishers.")
    var publishers = 100

    @Option(help: "Seconds of each measurement.")
    var seconds = 20

    @Option(help: "Number of joins to an encoder with rare key frames, which are measured instead.")
    var joins: Int?

    @Option(help: "Number of useless connections of each protocol, which are measured instead.")
    var connections: Int?

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...1_000).contains(publishers), (5...600).contains(seconds),
            [joins, connections].allSatisfy({ $0.map { $0 > 0 } ?? true }), joins == nil || connections == nil
        else {
            throw ValidationError(
                "--publishers must be 1 to 1000, --seconds 5 to 600, and one of --joins and --connections at least 1.")
        }
    }

    /// The cost of a publisher.
    private struct Cost {
        /// The share of a core for receiving.
        let receiving: Double
        /// The share of a core with transcoding.
        let share: Double
        /// The memory in bytes, with that of transcoding.
        let memory: Double
    }

    func run() async throws {
        try Descriptors.allowMany()
        var report = Report(options)
        if let joins { return try await measureJoins(joins, &report) }
        if let connections { return try await measureConnections(connections, &report) }
        let own = try await measure("platform", try await PlatformIngestServer.start(), &report)
        var metrics: [(key: String, value: Double?)] = [
            ("publisherShare", own.share), ("publisherMemory", own.memory), ("receivingShare", own.receiving),
        ]
        var targets = [Target("publisherShare", .atMost(0.01)), Target("publisherMemory", .atMost(10_000_000))]
        if NginxIngestServer.isInstalled {
            let nginx = try await measure("nginx-rtmp", try await NginxIngestServer(), &report)
            metrics.append(("receivingToNginx", nginx.receiving > 0 ? own.receiving / nginx.receiving : nil))
            targets.append(Target("receivingToNginx", .atMost(2)))
        }
        try report.finish(metrics, targets: targets)
    }

    private func measureJoins(_ count: Int, _ report: inout Report) async throws {
        let result = try await LongGroupJoins(count: count).measure(&report)
        try report.finish(
            [
                ("firstFrameP50", Percentile.of(result.firstFrames, 0.5)),
                ("firstFrameP95", Percentile.of(result.firstFrames, 0.95)),
                ("behindP50", Percentile.of(result.behind, 0.5)), ("behindP95", Percentile.of(result.behind, 0.95)),
                ("withoutFrame", Double(result.firstFrames.count { !$0.isFinite })),
            ],
            targets: [
                Target("firstFrameP95", .atMost(1_000)), Target("behindP95", .atMost(250)),
                Target("withoutFrame", .exactly(0)),
            ])
    }

    private func measureConnections(_ count: Int, _ report: inout Report) async throws {
        let result = try await UselessConnections(count: count).measure(&report)
        try report.finish(
            [
                ("descriptorsLeft", result.descriptors), ("memoryPerConnection", result.memoryPerConnection),
                ("unclosed", Double(result.unclosed)),
            ],
            targets: [
                Target("descriptorsLeft", .exactly(0)), Target("memoryPerConnection", .atMost(500)),
                Target("unclosed", .exactly(0)),
            ])
    }

    /// Measures a server, and ends it. Throws `BenchFailure` if a publisher fails.
    private func measure(_ name: String, _ server: any IngestServer, _ report: inout Report) async throws -> Cost {
        defer { server.stop() }
        let idle = server.usage
        let load = try RTMPLoad(
            publishers, port: server.port, application: server.application, media: .filler(hasAudio: true),
            key: { server.key($0) })
        defer { load.stop() }
        // The processes that transcode audio start within the first seconds.
        try await Task.sleep(for: .seconds(5))
        let (before, start) = (server.usage, MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let (after, elapsed) = (server.usage, (MonotonicClock.now() - start).seconds)
        guard load.failureCount == 0 else {
            throw BenchFailure("\(name): \(load.failureCount) of \(publishers) publishers were disconnected")
        }
        let count = Double(publishers)
        let receiving = (after.time - before.time).seconds / elapsed / count
        let transcoding = (after.childTime - before.childTime).seconds / elapsed / count
        let cost = Cost(
            receiving: receiving, share: receiving + transcoding,
            memory: (after.memory - idle.memory + after.childMemory) / count)
        report.row(
            name,
            [
                "receiving": cost.receiving, "share": cost.share, "memory": cost.memory,
                "lateFrames": Double(load.lateCount),
            ])
        return cost
    }
}

import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastJSON
import PCastRendering
import PCastWeb

/// `pcast-bench viewers` loads any WHEP or HLS server with many viewers.
struct ViewersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "viewers",
        abstract: "Load any WHEP or HLS server with viewers that decode nothing, and report what they receive.",
        discussion: """
            The viewers of a WHEP endpoint send all feedback of a browser, decrypt each packet, and check that packets \
            are complete and in order. Those of an HLS server load the first variant as a player does, with blocking \
            reloads if the server has them. A stall is a time in which everything that was loaded would have been \
            played.

            The server may be any program: PCast, MediaMTX, OvenMediaEngine or another one. A token in the environment \
            variable PCAST_BENCH_VIEWING_TOKEN is sent as the bearer token.
            """)

    @Option(help: "Address of a WHEP endpoint, such as http://127.0.0.1:8080/whep/STREAM.")
    var whep: String?

    @Option(help: "Address of an HLS playlist.")
    var hls: String?

    @Option(help: "Number of viewers.")
    var count = 100

    @Option(help: "Seconds of the measurement, which begins when all viewers have joined.")
    var seconds = 20

    @Option(help: "This machine's address and the first UDP port of WHEP viewers.")
    var from = "127.0.0.1:20000"

    @Flag(inversion: .prefixedNo, help: "Receive audio by WHEP.")
    var audio = true

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (whep == nil) != (hls == nil) else { throw ValidationError("Give either --whep or --hls.") }
        guard (1...10_000).contains(count), (1...86_400).contains(seconds) else {
            throw ValidationError("--count must be 1 to 10000, and --seconds 1 to 86400.")
        }
        if whep != nil, address == nil {
            throw ValidationError(
                "--from must be an IP address and a port, such as 127.0.0.1:20000, with \(count) ports from there on.")
        }
    }

    private var address: TransportAddress? {
        guard let first = TransportAddress(from), first.port > 0, Int(first.port) + count - 1 <= 65_535 else {
            return nil
        }
        return first
    }

    func run() async throws {
        try Descriptors.allowMany()
        if let whep, let address { try await watch(whep: whep, from: address) }
        if let hls { try await watch(hls: hls) }
    }

    // MARK: WHEP

    private func watch(whep: String, from first: TransportAddress) async throws {
        var report = Report(options)
        let token = ProcessInfo.processInfo.environment[LightViewersCommand.tokenVariable]
        let viewers = try LightViewers(count, from: first.ip, firstPort: first.port)
        defer { viewers.leave() }
        let start = MonotonicClock.now()
        var failure: (any Error)?
        do {
            try await viewers.join(whep, token: token, wantsAudio: audio)
            try await viewers.waitUntilWatching(within: .seconds(20))
        } catch {
            failure = error
        }
        if let failure {
            await viewers.deleteSessions(token: token)
            throw failure
        }
        let joined = MonotonicClock.now() - start
        try await viewers.begin()
        try await Task.sleep(for: .seconds(seconds))
        let metrics = try await viewers.metrics()
        let waits = try await viewers.firstFrameTimes().map(\.milliseconds)
        await viewers.deleteSessions(token: token)
        report.row(
            "joins",
            [
                "seconds": joined.seconds, "firstFrameP50": Percentile.of(waits, 0.5),
                "firstFrameP99": Percentile.of(waits, 0.99),
            ])
        try report.finish(
            [
                "viewers": Double(count), "watching": Double(metrics.watching),
                "packetsPerSecond": Double(metrics.packets) / Double(seconds), "missing": Double(metrics.missing),
                "reordered": Double(metrics.reordered), "requested": Double(metrics.requested),
                "fewestFrames": metrics.fewestFrames.map(Double.init), "mostFrames": Double(metrics.maximumFrames),
                "longestVideoStep": metrics.longestVideoStep.milliseconds,
                "lagP50": metrics.lags.percentile(0.5)?.milliseconds,
                "lagP99": metrics.lags.percentile(0.99)?.milliseconds, "ownDrops": Double(metrics.ownDrops),
            ], targets: [Target("watching", .atLeast(Double(count))), Target("ownDrops", .exactly(0))])
    }

    // MARK: HLS

    private func watch(hls: String) async throws {
        let report = Report(options)
        let connections = HTTPRequests.ConnectionPool(connections: count * 2)
        let viewer = HLSViewer(uri: hls, connections: connections)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        let results = await withTaskGroup(of: HLSViewer.Metrics.self) { group in
            for _ in 0..<count { group.addTask { await viewer.run(until: end) } }
            var results: [HLSViewer.Metrics] = []
            for await result in group { results.append(result) }
            return results
        }
        await connections.close()
        if let failure = results.compactMap(\.failure).first {
            report.event("failure", ["reason": .string(failure)], sentence: "A viewer failed: \(failure)")
        }
        let waits = results.compactMap { $0.firstMedia?.milliseconds }
        try report.finish(
            [
                "viewers": Double(count), "watching": Double(results.count { $0.failure == nil && $0.media > 0 }),
                "firstMediaP50": Percentile.of(waits, 0.5), "firstMediaP99": Percentile.of(waits, 0.99),
                "playlists": Double(results.reduce(0) { $0 + $1.playlists }),
                "media": Double(results.reduce(0) { $0 + $1.media }),
                "megabitsPerSecond": Double(results.reduce(0) { $0 + $1.bytes }) * 8 / 1_000_000 / Double(seconds),
                "stalls": Double(results.reduce(0) { $0 + $1.stalls }),
                "stalledSeconds": results.reduce(TimeSpan.zero) { $0 + $1.stalled }.seconds,
            ], targets: [Target("watching", .atLeast(Double(count)))])
    }
}

import ArgumentParser
import PCastCore
import PCastHLS
import PCastPlayback
import PCastWeb

/// `pcast-bench hls` measures HLS output: cost, latency, and blocked reloads.
struct HLSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hls",
        abstract: "Measure HLS output: the cost of packaging, the latency of a player, and blocked reloads.",
        discussion: """
            The platform and a publisher of 1280x720 at 30 frames per second are separate processes. “packaging” is \
            the additional share of a core while the stream is packaged in parts of 200 ms, and “transcoding” that \
            with AAC. The latency is from the capture of a frame to its display in this project's player. “reload” is \
            the time from the first answer with a part to the others, for viewers that only reload a playlist. \
            “request” is the CPU time for a response. nginx (scripts/peers) serves the same content in the same run, \
            and “RequestsOfNginx” is the ratio of the requests that a core answers, platform to nginx.
            """)

    @Option(help: "Numbers of viewers that reload, separated by commas.")
    var viewers = "500,2000"

    @Option(help: "Seconds of each measurement.")
    var seconds = 20

    @Option(help: "Number of requests whose cost is measured.")
    var requests = 20_000

    @OptionGroup var options: ReportOptions

    private var counts: [Int] { viewers.split(separator: ",").compactMap { Int($0) } }

    func validate() throws {
        guard !counts.isEmpty, counts.allSatisfy({ (1...10_000).contains($0) }), (5...600).contains(seconds),
            (100...10_000_000).contains(requests)
        else {
            throw ValidationError(
                "--viewers must be numbers from 1 to 10000, --seconds 5 to 600, and --requests at least 100.")
        }
    }

    func run() async throws {
        var report = Report(options)
        try Descriptors.allowMany()
        let plain = try await HLSSetup.start(isPackaged: false)
        let base = try await plain.processorShare(seconds: seconds)
        plain.stop()
        let setup = try await HLSSetup.start(isPackaged: true)
        defer { setup.stop() }
        let packaged = try await setup.processorShare(seconds: seconds)
        // The request of the multivariant playlist begins the transcoding, which continues for a minute.
        guard case .multivariant(let list) = try await PlaylistObserver.load(setup.uri) else {
            throw BenchFailure("\(setup.uri) is no multivariant playlist")
        }
        let transcoded = try await setup.processorShare(seconds: min(seconds, 50))
        report.row(
            "share of a core",
            ["forwarding": base, "packaging": packaged - base, "transcoding": transcoded - base])
        let latencies = try await latency(setup.uri)
        report.row(
            "capture to display",
            [
                "median": Percentile.of(latencies, 0.5), "p95": Percentile.of(latencies, 0.95),
                "worst": latencies.max(), "frames": Double(latencies.count),
            ])
        var metrics: [(key: String, value: Double?)] = [
            ("packagingShare", packaged - base), ("transcodingShare", transcoded - base),
            ("latencyP50", Percentile.of(latencies, 0.5)),
        ]
        var targets = [
            Target("packagingShare", .atMost(0.003)), Target("transcodingShare", .atMost(0.01)),
            Target("latencyP50", .atMost(800)), Target("playlistRequestsOfNginx", .atLeast(0.5)),
            Target("segmentRequestsOfNginx", .atLeast(0.8)),
        ]
        guard let relative = list.variants.first?.uri else { throw BenchFailure("\(setup.uri) has no variant") }
        let uri = URIReference(relative).resolved(against: URIReference(setup.uri)).text
        for cost in try await requestCosts(uri, setup, share: transcoded, &report) { metrics.append(cost) }
        for count in counts {
            let result = try await ReloadingViewers(uri: uri, count: count).run(seconds: seconds)
            let delay = Percentile.of(result.delays, 0.99)
            report.row(
                "\(count) viewers reload",
                [
                    "median": Percentile.of(result.delays, 0.5), "p99": delay, "worst": result.delays.max(),
                    "answers": Double(result.delays.count), "failures": Double(result.failures),
                ])
            metrics.append((key: "reloadP99With\(count)", value: delay))
            metrics.append((key: "failuresWith\(count)", value: Double(result.failures)))
            targets += [
                Target("reloadP99With\(count)", .atMost(count <= 500 ? 20 : 60)),
                Target("failuresWith\(count)", .exactly(0)),
            ]
        }
        try report.finish(metrics, targets: targets)
    }

    /// The number of bytes of a segment that are requested.
    private static let rangeLength = 100_000

    /// Measures the requests of a playlist and of 100 kB of its newest segment, and the same of nginx with the same
    /// content.
    private func requestCosts(
        _ uri: String, _ setup: HLSSetup, share: Double, _ report: inout Report
    ) async throws -> [(key: String, value: Double?)] {
        let text = try await HTTPRequests.send("GET", uri)
        let playlist = try MediaPlaylist(String(decoding: text.body, as: UTF8.self))
        guard let segment = playlist.segments.last?.uri else { throw BenchFailure("\(uri) has no segment") }
        let file = URIReference(segment).resolved(against: URIReference(uri)).text
        let media = try await HTTPRequests.send("GET", file)
        guard media.body.count >= Self.rangeLength else {
            throw BenchFailure("a segment has \(media.body.count) bytes, fewer than \(Self.rangeLength)")
        }
        let nginx = try await NginxServer(files: ["list.m3u8": text.body, "segment.m4s": media.body])
        defer { nginx.stop() }
        var metrics: [(key: String, value: Double?)] = []
        let targets = [
            ("playlist", RequestTarget(uri: uri), nginx.uri(of: "list.m3u8")),
            ("segment", RequestTarget(uri: file, length: Self.rangeLength), nginx.uri(of: "segment.m4s")),
        ]
        for (name, target, other) in targets {
            let cost = try await setup.requestCost(of: target, count: requests, share: share)
            let reference = try await RequestTarget(uri: other, length: target.length).cost(
                count: requests, server: nginx.processID, share: 0)
            for (server, cost) in [("platform", cost), ("nginx", reference)] {
                report.row(
                    "request of a \(name), \(server)",
                    [
                        "microseconds": cost.microseconds, "bytes": Double(cost.size),
                        "bytesPerSecond": cost.bytesPerSecond,
                    ])
            }
            metrics.append((key: "\(name)RequestMicroseconds", value: cost.microseconds))
            metrics.append((key: "\(name)RequestsOfNginx", value: reference.microseconds / cost.microseconds))
        }
        return metrics
    }

    /// Plays the stream and returns the latencies of its frames in milliseconds, without those of the first second.
    private func latency(_ uri: String) async throws -> [Double] {
        let surface = LatencySurface(Dimensions(width: 1_280, height: 720))
        let player = Player(.media(playsAudio: false, shownOn: surface))
        player.set(video: Video(uri), play: true)
        try await Task.sleep(for: .seconds(seconds))
        player.reset()
        await player.settled()
        return Array(surface.latencies.dropFirst(30))
    }
}

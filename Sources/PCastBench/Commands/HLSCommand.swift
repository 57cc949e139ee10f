import ArgumentParser
import PCastCore
import PCastHLS
import PCastPlayback

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
            “request” is the platform's CPU time for a response.
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
            Target("latencyP50", .atMost(800)),
        ]
        guard let relative = list.variants.first?.uri else { throw BenchFailure("\(setup.uri) has no variant") }
        let uri = URIReference(relative).resolved(against: URIReference(setup.uri)).text
        for cost in try await requestCosts(uri, setup, share: transcoded, &report) { metrics.append(cost) }
        for count in counts {
            let result = await ReloadingViewers(uri: uri, count: count).run(seconds: seconds)
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

    /// Measures the requests of a playlist and of its newest segment.
    private func requestCosts(
        _ uri: String, _ setup: HLSSetup, share: Double, _ report: inout Report
    ) async throws -> [(key: String, value: Double?)] {
        guard case .media(let playlist) = try await PlaylistObserver.load(uri),
            let segment = playlist.segments.last?.uri
        else { throw BenchFailure("\(uri) has no segment") }
        let file = URIReference(segment).resolved(against: URIReference(uri)).text
        var metrics: [(key: String, value: Double?)] = []
        for (name, address) in [("playlist", uri), ("segment", file)] {
            let cost = try await setup.requestCost(of: address, count: requests, share: share)
            report.row(
                "request of a \(name)",
                [
                    "microseconds": cost.microseconds, "bytes": Double(cost.size),
                    "bytesPerSecond": cost.bytesPerSecond,
                ])
            metrics.append((key: "\(name)RequestMicroseconds", value: cost.microseconds))
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

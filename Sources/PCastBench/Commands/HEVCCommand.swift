import ArgumentParser
import Foundation
import PCast
import PCastCodecs
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON

/// `pcast-bench hevc` measures a camera with H.265: the cost of passing it through, and joins of viewers without H.265.
struct HEVCCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hevc",
        abstract: "Measure a camera with 1080p30 of H.265: its cost, and the joins of viewers who receive H.264 of it.",
        discussion: """
            ffmpeg with libx265 encodes a film with a key frame in each second, which an RTSP server of this program plays. \
            “pcast publish --codec h265” publishes it to a platform. “pass-through” is the share of a core of the publisher \
            and of the platform, while one viewer of ours receives H.265.

            Then viewers who do not receive H.265 join one after another, at random moments. Each of them is the first one, \
            so that the process that makes H.264 must start. “firstFrame” is the time from the request to the first frame in \
            milliseconds. The next row has joins while that process runs for another viewer.

            The last row has joins of Chromium, which has no H.265, by the watch page. “firstFrame” is the time from the \
            navigation to the first frame; the process starts for the first of them. They need the folder of the package, and \
            can be left out by --chromium-joins 0.
            """)

    @Option(help: "Number of joins.")
    var joins = 5

    @Option(help: "Number of joins in Chromium.")
    var chromiumJoins = 3

    @Option(help: "Seconds of the measurement of the cost.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    private static let application = "bench"
    /// The time after which the process that makes H.264 has ended.
    private static let processEnd = Duration.seconds(12)
    private var targets: [Target] {
        [Target("passThroughShare", .atMost(0.03)), Target("firstFrameMax", .atMost(2_000))]
            + (chromiumJoins > 0 ? [Target("chromiumFirstFrameMax", .atMost(2_000))] : [])
    }

    func validate() throws {
        guard (1...100).contains(joins), (0...100).contains(chromiumJoins), (5...600).contains(seconds) else {
            throw ValidationError("--joins must be 1 to 100, --chromium-joins 0 to 100, and --seconds 5 to 600.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let camera = try RTSPCamera(try Self.film())
        defer { camera.stop() }
        let secret = FanOutSetup.randomSecret()
        let platform = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--renditions", "all", "--max-renditions", "1"],
            environment: ["PCAST_SERVE_APPLICATION": "\(Self.application):\(secret)"])
        defer { platform.stop() }
        guard case .string(let uri)? = try await platform.next("listening")["uri"] else {
            throw BenchFailure("the platform did not report its address")
        }
        let tokens = try [
            Self.token(secret).forAuthenticationOnly().build(), Self.token(secret).forPublishingOnly().build(),
        ]
        let publisher = try PCastProcess(
            ["publish", "--uri", uri, "--video", camera.uri, "--codec", "h265", "--audio", "null"],
            environment: ["PCAST_PUBLISH_TOKEN": tokens.joined(separator: ",")])
        defer { publisher.stop() }
        guard case .string(let stream)? = try await publisher.next("publishing")["streamId"] else {
            throw BenchFailure("the publisher did not report its stream")
        }
        let viewing = try Viewing(
            uri: uri, application: Self.application, secret: secret, stream: StreamID(stream))
        let cost = try await measureCost(viewing, publisher.processID, platform.processID, &report)
        let viewer = HEVCViewer(
            uri: uri, authenticationToken: tokens[0],
            viewingToken: try Self.token(secret).forOriginStream(stream).forStreamingOnly()
                .withCapability("prefer-h264=force").build(), streamID: viewing.streamID)
        let first = try await measureJoins(viewer, &report)
        let warm = try await measureFurtherJoins(viewer, &report)
        let watching = try Self.token(secret).forOriginStream(stream).forStreamingOnly().build()
        let chromium = try await measureChromium(uri, stream, watching, &report)
        try report.finish(
            [
                ("passThroughShare", cost), ("firstFrameP50", Percentile.of(first, 0.5)),
                ("firstFrameMax", first.max()),
                ("furtherFirstFrameP50", Percentile.of(warm, 0.5)), ("furtherFirstFrameMax", warm.max()),
                ("chromiumFirstFrameP50", Percentile.of(chromium, 0.5)), ("chromiumFirstFrameMax", chromium.max()),
            ], targets: targets)
    }

    private static func token(_ secret: String) -> EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application).withSecret(secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
    }

    /// Returns the frames of a film of ten seconds. Throws `BenchFailure` if ffmpeg cannot encode it.
    private static func film() throws -> [EncodedFrame] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-hevc-\(UUID()).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        let ffmpeg = Process()
        ffmpeg.executableURL = try SystemProgram.url(of: "ffmpeg")
        ffmpeg.arguments = [
            "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30:d=10", "-pix_fmt", "yuv420p",
            "-c:v", "libx265", "-preset", "ultrafast", "-b:v", "4M", "-x265-params",
            "bframes=0:keyint=30:min-keyint=30:scenecut=0:open-gop=0:log-level=none", "-f", "mpegts", file.path,
        ]
        try ffmpeg.run()
        ffmpeg.waitUntilExit()
        guard ffmpeg.terminationStatus == 0 else {
            throw BenchFailure("ffmpeg does not encode H.265: it needs libx265")
        }
        let reader = try MediaReader(uri: file.path, select: [.video], passesThrough: true, codecs: [.h265])
        var frames: [EncodedFrame] = []
        while let sample = try reader.nextSample() {
            if case .coded(let frame) = sample { frames.append(frame) }
        }
        guard frames.count > 200, frames[0].isKeyFrame else {
            throw BenchFailure("the film of ffmpeg has \(frames.count) frames of H.265")
        }
        return frames
    }

    /// Returns the share of a core of the publisher and of the platform, with one viewer. Throws `BenchFailure` if the
    /// viewer sees no frames.
    private func measureCost(
        _ viewing: Viewing, _ publisher: Int32, _ platform: Int32, _ report: inout Report
    ) async throws -> Double {
        let seconds = seconds
        async let watched = viewing.watch(for: .seconds(seconds + 4), lipSync: false)
        // The work of the join ends within this time.
        try await Task.sleep(for: .seconds(3))
        let (before, start) = ([publisher, platform].map { Processor.time(of: $0) }, MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let elapsed = (MonotonicClock.now() - start).seconds
        let shares = zip([publisher, platform], before).map { (Processor.time(of: $0) - $1).seconds / elapsed }
        let children = Processor.children(of: platform).count
        let frames = try await watched.framesRendered
        guard frames >= seconds * 15 else { throw BenchFailure("the viewer has shown \(frames) frames of H.265") }
        guard children == 0 else { throw BenchFailure("the platform made renditions for a viewer of H.265") }
        report.row(
            "pass-through",
            [
                "publisherShare": shares[0], "platformShare": shares[1], "share": shares[0] + shares[1],
                "frames": Double(frames),
            ])
        return shares[0] + shares[1]
    }

    /// Returns the times of joins for which the process must start.
    private func measureJoins(_ viewer: HEVCViewer, _ report: inout Report) async throws -> [Double] {
        var generator = SystemRandomNumberGenerator()
        var times: [Double] = []
        for _ in 0..<joins {
            try await Task.sleep(for: .milliseconds(Int64.random(in: 0...1_000, using: &generator)))
            times.append(try await viewer.join().milliseconds)
            try await Task.sleep(for: Self.processEnd)
        }
        Self.report("\(joins) joins", times, &report)
        return times
    }

    /// Returns the times of joins while the process runs for another viewer.
    private func measureFurtherJoins(_ viewer: HEVCViewer, _ report: inout Report) async throws -> [Double] {
        let joins = joins
        var times: [Double] = []
        try await viewer.whileWatching {
            for _ in 0..<joins {
                try await Task.sleep(for: .milliseconds(Int64.random(in: 200...1_200)))
                times.append(try await viewer.join().milliseconds)
            }
        }
        Self.report("\(joins) further joins", times, &report)
        return times
    }

    /// Returns the times of joins in Chromium, for the first of which the process must start.
    private func measureChromium(
        _ uri: String, _ stream: String, _ token: String, _ report: inout Report
    ) async throws -> [Double] {
        guard chromiumJoins > 0 else { return [] }
        try await Task.sleep(for: Self.processEnd)
        let browser = try ChromiumPeer(
            "join_chromium.py",
            [
                uri, "--stream", stream, "--token", token, "--loads", "\(chromiumJoins)", "--seconds",
                "\(3 * chromiumJoins)",
            ], origin: uri, in: nil)
        defer { browser.stop() }
        let times = JoinCommand.times("loads", of: try await Task.detached { try browser.metrics() }.value)
        guard times.count == chromiumJoins else { throw BenchFailure("Chromium has shown \(times.count) first frames") }
        Self.report("\(chromiumJoins) joins of Chromium", times, &report)
        return times
    }

    private static func report(_ name: String, _ times: [Double], _ report: inout Report) {
        report.row(
            name,
            [
                "firstFrameP50": Percentile.of(times, 0.5), "firstFrameMax": times.max(), "firstFrameMin": times.min(),
            ])
    }
}

/// A viewer that receives H.264 only.
private struct HEVCViewer: Sendable {
    let uri: String
    let authenticationToken: String
    let viewingToken: String
    let streamID: StreamID

    private static let timeout = Duration.seconds(20)

    /// Joins with a session of its own, and leaves after the first frame. Returns the time from the request to the first
    /// frame. Throws `BenchFailure` if there is none in time.
    func join() async throws -> TimeSpan {
        let pcast = PCast(PCastOptions(uri: uri))
        _ = try await pcast.start(authenticationToken: authenticationToken)
        let beginning = MonotonicClock.now()
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        let first = try await firstFrame(of: stream)
        stream.stop()
        await pcast.shutdown()
        guard let first else { throw BenchFailure("no frame of H.264 arrived within 20 seconds") }
        return first - beginning
    }

    /// Watches while `body` runs, from the first frame on.
    func whileWatching(_ body: () async throws -> Void) async throws {
        let pcast = PCast(PCastOptions(uri: uri))
        _ = try await pcast.start(authenticationToken: authenticationToken)
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        guard try await firstFrame(of: stream) != nil else {
            throw BenchFailure("no frame of H.264 arrived within 20 seconds")
        }
        try await body()
        stream.stop()
        await pcast.shutdown()
    }

    private func firstFrame(of stream: MediaStream) async throws -> Instant? {
        let renderer = stream.createRenderer(.nullDevices)
        try renderer.start()
        let watchdog = Task {
            try await Task.sleep(for: Self.timeout)
            renderer.stop()
        }
        defer { watchdog.cancel() }
        let first = await renderer.firstFrame
        renderer.stop()
        return first
    }
}

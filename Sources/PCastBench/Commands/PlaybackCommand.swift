import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastPlayback

/// `pcast-bench playback` measures the start time, seeks, and the distance from the live edge.
struct PlaybackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playback",
        abstract: "Measure a player with HLS: start time, seeks, and delay behind the live edge.",
        discussion: """
            The file is 1280x720 at 25 frames per second. Each frame contains its number, and the result is based on \
            the rendered frames. The HTTP origin is part of this program, on loopback. Live streams have parts of \
            0.4 s and are played at the default distance of three parts. “behind” is the time from the end of the \
            newest available part to the rendered frame, “behindCamera” from the moment that would be captured now.
            """)

    @Option(help: "Number of starts for each kind of address.")
    var count = 20

    @Option(help: "Number of seeks inside the buffer.")
    var seeks = 40

    @Option(help: "Seconds of live playback.")
    var seconds = 15

    @OptionGroup var options: ReportOptions

    /// The duration of the film, in seconds.
    private static let length = 60
    /// The duration of the live programme when it is joined.
    private static let head = TimeSpan.seconds(20 as Int64)

    func validate() throws {
        guard count >= 1, seeks >= 1, (1...30).contains(seconds) else {
            throw ValidationError("--count and --seeks must be at least 1, and --seconds 1 to 30.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let folder = "/dev/shm/pcast-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let film = try StampedVideo(seconds: Self.length, in: folder)
        let origin = try await TestHLSOrigin.open(film, head: Self.head)
        let file = try await starts(film.file, "start, file", &report)
        let playlist = try await starts(origin.uri("film.m3u8"), "start, HLS", &report)
        let seekTimes = try await seeksInBuffer(origin.uri("film.m3u8"), &report)
        await origin.close()
        let live = try await liveMetrics(film, &report)
        try report.finish(
            [
                "fileStartP50": Percentile.of(file, 0.5), "startP50": Percentile.of(playlist, 0.5),
                "seekP50": Percentile.of(seekTimes, 0.5), "seekP95": Percentile.of(seekTimes, 0.95),
                "liveStart": live.start, "behindP50": Percentile.of(live.behind, 0.5), "behindMax": live.behind.max(),
                "behindCameraMax": live.behindCamera.max(), "liveFramesDropped": Double(live.framesDropped),
                "liveLongestFrame": live.longest,
            ],
            targets: [
                Target("startP50", .atMost(250)), Target("seekP95", .atMost(100)), Target("behindMax", .atMost(1_500)),
                Target("liveFramesDropped", .exactly(0)),
            ])
    }

    private static func milliseconds(_ time: TimeSpan) -> Double { time.seconds * 1_000 }

    private func starts(_ address: String, _ name: String, _ report: inout Report) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            let playback = MeasuredPlayback()
            times.append(Self.milliseconds(try await playback.start(address)))
            await playback.stop()
        }
        report.row(name, ["median": Percentile.of(times, 0.5), "worst": times.max(), "count": Double(times.count)])
        return times
    }

    /// Seeks forward and back within the buffer: from the current position to a second before the end of the buffer.
    private func seeksInBuffer(_ address: String, _ report: inout Report) async throws -> [Double] {
        let playback = MeasuredPlayback()
        _ = try await playback.start(address)
        var times: [Double] = []
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<seeks {
            try await playback.awaitBuffer(.seconds(3 as Int64))
            let (position, end) = (playback.player.position, playback.player.bufferedPosition)
            // The target is in the middle of a frame, so that the expected frame is unambiguous.
            let frame = (Double.random(in: position + 0.5...end - 1, using: &generator) * Double(StampedVideo.rate))
            let target = TimeSpan(seconds: (frame.rounded(.down) + 0.5) / Double(StampedVideo.rate))
            times.append(Self.milliseconds(try await playback.seek(to: target)))
            if target.seconds > Double(Self.length) - 20 { _ = try await playback.seek(to: .milliseconds(20)) }
        }
        await playback.stop()
        report.row(
            "seek in the buffer",
            ["median": Percentile.of(times, 0.5), "worst": times.max(), "count": Double(times.count)])
        return times
    }

    private func liveMetrics(_ film: StampedVideo, _ report: inout Report) async throws -> LiveMetrics {
        let origin = try await TestHLSOrigin.open(film, head: Self.head)
        let playback = MeasuredPlayback()
        var metrics = LiveMetrics(start: Self.milliseconds(try await playback.start(origin.uri("live.m3u8"))))
        let shownFrames = try await playback.watch(.seconds(Int64(seconds)))
        for shownFrame in shownFrames {
            let shown = StampedVideo.position(of: shownFrame.counter)
            metrics.behind.append(Self.milliseconds(origin.edge(at: shownFrame.moment) - shown))
            metrics.behindCamera.append(Self.milliseconds(origin.camera(at: shownFrame.moment) - shown))
        }
        metrics.framesDropped = zip(shownFrames, shownFrames.dropFirst()).map { $1.counter - $0.counter - 1 }.reduce(
            0, +)
        metrics.longest = zip(shownFrames, shownFrames.dropFirst()).map { Self.milliseconds($1.moment - $0.moment) }
            .max()
        await playback.stop()
        await origin.close()
        report.row(
            "live, low latency",
            [
                "start": metrics.start, "behind": Percentile.of(metrics.behind, 0.5), "behindMax": metrics.behind.max(),
                "behindCamera": Percentile.of(metrics.behindCamera, 0.5), "frames": Double(metrics.behind.count),
                "leftOut": Double(metrics.framesDropped), "longest": metrics.longest,
            ])
        return metrics
    }

    private struct LiveMetrics {
        var start: Double
        var behind: [Double] = []
        var behindCamera: [Double] = []
        /// The number of frames that were not presented.
        var framesDropped = 0
        /// The longest time between two frames, in milliseconds.
        var longest: Double?
    }
}

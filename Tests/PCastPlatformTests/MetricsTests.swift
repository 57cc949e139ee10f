import Foundation
import PCastCore
import PCastIO
import PCastSFU
import Testing

@testable import PCastPlatform

/// `/metrics` in Prometheus' format.
@Suite struct MetricsTests {
    private static let promtool: String? = {
        let environment = ProcessInfo.processInfo.environment
        let cache = (environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache") + "/pcast"
        let found = ["/usr/bin/promtool", "\(cache)/promtool/usr/bin/promtool"]
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        if found == nil { print("left out: metrics by promtool: scripts/peers has not installed it") }
        return found
    }()

    /// Returns the problems that promtool finds in a text; empty if there are none.
    private func check(_ text: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-metrics-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("metrics")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let process = try FinishedProcess(
            running: "/bin/sh", ["-c", #""$0" check metrics <"$1""#, try #require(Self.promtool), file.path],
            environment: ProcessInfo.processInfo.environment, recording: .both)
        return process.hasSucceeded ? process.text : process.text + "\(process.end)"
    }

    @Test("promtool accepts names, units and help texts", .enabled(if: promtool != nil))
    func conventions() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            let (other, _) = try await platform.publish()
            _ = try await platform.ask("DELETE", "/pcast/stream", #"{"streamId":"\#(other)","reason":"own words"}"#)
            #expect(try await platform.reaches("pcast_streams", 1))
            let text = try await platform.send("GET", "/metrics").body
            #expect(try check(text) == "", "\(text)")
            // promtool reports errors if there are any.
            #expect(try check("# TYPE pcast_bits counter\npcast_bits 1\n") != "")
        }
    }

    @Test(
        "every possible metric has a valid name, and unusual names of applications break nothing",
        .enabled(if: promtool != nil))
    func everything() throws {
        let odd = ApplicationID("a\"b\\c\nd")
        var figures = StreamMetrics(stream: StreamID("stream-x"))
        figures.bitrate = .kilobits(1_000)
        figures.limit = .kilobits(2_000)
        figures.roundTrip = .milliseconds(12)
        figures.estimates = .kilobits(3_000)
        figures.estimatedViewers = 2
        figures.viewersOfLayers = [0: 1, 1: 2]
        figures.viewerQualities = [.good: 2, DataQuality(status: .noData, reason: .downloadLimited): 1]
        let statistics = PlatformStatistics()
        statistics.streamStarted(odd)
        statistics.streamEnded(odd, .custom)
        statistics.viewBegan(odd)
        statistics.joined(isPublisher: true, after: .milliseconds(80))
        statistics.joined(isPublisher: false, after: .seconds(60))
        statistics.notified(after: .milliseconds(3))
        var metrics = MetricsText()
        metrics.add(statistics.values, applications: [odd, ApplicationID("idle")], present: [odd: (1, 2)])
        metrics.add([MetricsText.StreamSource(metrics: figures, application: odd)])
        var refusals = RequestLimiter.Counts()
        refusals.add(.joinsPerSecond)
        metrics.add(refusals)
        if let process = ProcessMetrics.read() { metrics.add(process) }
        #expect(try check(metrics.text) == "", "\(metrics.text)")
        #expect(metrics.text.contains(#"pcast_requests_rejected_total{limit="joins-per-second"} 1"#))
        #expect(metrics.text.contains(#"pcast_streams_ended_total{application="a\"b\\c\nd",reason="custom"} 1"#))
        #expect(metrics.text.contains(#"pcast_views_total{application="idle"} 0"#))
        #expect(
            metrics.text.contains(
                #"pcast_stream_received_bytes_per_second{application="a\"b\\c\nd",stream="stream-x"} 125000.0"#))
        #expect(metrics.text.contains(#"pcast_join_duration_seconds_bucket{role="publisher",le="0.1"} 1"#))
        #expect(metrics.text.contains(#"pcast_join_duration_seconds_bucket{role="viewer",le="10.0"} 0"#))
        #expect(metrics.text.contains(#"pcast_join_duration_seconds_count{role="viewer"} 1"#))
    }

    @Test("of many streams, the hundred with the most viewers have their own metrics")
    func bound() {
        let streams = (0..<1_000).map { number in
            var figures = StreamMetrics(stream: StreamID("stream-\(number)"))
            figures.viewers = number
            return MetricsText.StreamSource(metrics: figures, application: ApplicationID("first"))
        }
        var metrics = MetricsText()
        metrics.add(streams)
        let viewers = metrics.text.split(separator: "\n").filter { $0.hasPrefix("pcast_stream_viewers{") }
        #expect(viewers.count == 100)
        #expect(viewers.first?.contains("stream-999") == true && viewers.last?.contains("stream-900") == true)
        #expect(metrics.text.contains("pcast_streams_omitted 900\n"))
    }

    @Test("a histogram counts the values up to each bound, and all") func histogram() {
        var histogram = Histogram(milliseconds: [10, 100])
        for milliseconds in [0, 10, 11, 100, 101, 5_000] as [Int64] { histogram.add(.milliseconds(milliseconds)) }
        #expect(histogram.cumulative.map(\.count) == [2, 4])
        #expect(histogram.count == 6)
        #expect(histogram.sum == .milliseconds(5_222))
    }

    @Test("the traffic of an application's streams is counted under its name") func applications() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            let text = try await platform.send("GET", "/metrics").body
            for line in [
                #"pcast_application_streams{application="first"} 1"#,
                #"pcast_application_viewers{application="first"} 1"#,
                #"pcast_application_streams{application="second"} 0"#,
                #"pcast_streams_started_total{application="first"} 1"#,
                #"pcast_views_total{application="first"} 1"#,
            ] { #expect(text.contains(line + "\n"), "\(line)") }
            _ = try await platform.ask("DELETE", "/pcast/stream", #"{"streamId":"\#(stream)","reason":"censored"}"#)
            #expect(
                try await eventually {
                    try await platform.send("GET", "/metrics").body.contains(
                        #"pcast_streams_ended_total{application="first",reason="censored"} 1"#)
                })
        }
    }
}

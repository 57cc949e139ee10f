import Foundation
import Testing

extension EndToEnd {
    /// The files of `configs/` for Grafana and Prometheus.
    @Suite("Grafana and Prometheus")
    struct GrafanaTests {
        /// A program of Prometheus' package; nil if `scripts/peers` has not installed it.
        private static func program(_ name: String) -> String? {
            let environment = ProcessInfo.processInfo.environment
            let cache = (environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache") + "/pcast"
            let found = ["/usr/bin/\(name)", "\(cache)/promtool/usr/bin/\(name)"]
                .first { FileManager.default.isExecutableFile(atPath: $0) }
            if found == nil { print("left out: \(name) of Prometheus: scripts/peers has not installed it") }
            return found
        }

        private static let configurations = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("configs").path

        @Test(
            "each query of the dashboard returns series of a platform under load",
            .enabled(if: program("prometheus") != nil && ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func dashboard() async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.pcast(
                    "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--data", workspace.path("data"))
                let platform = try await LocalPlatform(program, in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let viewer = try workspace.pcast("subscribe", "--uri", platform.uri, "--stream", stream)
                _ = try await viewer.event("firstFrame")
                // A stream that has ended has a reason.
                let ended = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--video", "null", "--audio", "synthetic")
                _ = try await ended.event("publishing")
                ended.send(SIGINT)
                _ = try await ended.exitStatus()
                try await workspace.run(
                    "\(BuiltProgram.peers)/grafana_queries.py",
                    [
                        "--dashboard", "\(Self.configurations)/grafana/pcast.json", "--target",
                        String(platform.uri.dropFirst("http://".count)),
                    ])
                #expect(viewer.isRunning && publisher.isRunning)
            }
        }

        @Test(
            "each alert fires when its condition is caused, and none otherwise",
            .enabled(if: program("promtool") != nil), .timeLimit(.minutes(5)))
        func alerts() async throws {
            try await TestWorkspace.run { workspace in
                let promtool = try #require(Self.program("promtool"))
                let folder = "\(Self.configurations)/prometheus"
                try await workspace.run(promtool, ["check", "rules", "\(folder)/alerts.yaml"])
                try await workspace.run(promtool, ["test", "rules", "\(folder)/alerts.test.yaml"])
                // Each rule has a test.
                let rules = try names(of: "- alert: ", "\(folder)/alerts.yaml")
                let tested = try names(of: "alertname: ", "\(folder)/alerts.test.yaml")
                #expect(rules.count > 10 && Set(rules) == Set(tested))
            }
        }

        private func names(of key: String, _ path: String) throws -> [String] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
                let text = line.trimmingCharacters(in: .whitespaces)
                return text.hasPrefix(key) ? String(text.dropFirst(key.count)) : nil
            }
        }
    }
}

import Foundation
import Testing

extension EndToEnd {
    /// The dashboard in headless Chromium, and the pages that it links.
    @Suite("The dashboard", .enabled(if: ThisMachine.hasChromium))
    struct DashboardTests {
        @Test("an administrator performs ten tasks, each with three clicks at most", .timeLimit(.minutes(10)))
        func tasks() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(
                    in: workspace,
                    ["--webhook-allow", "127.0.0.0/8", "--data", workspace.path("data"), "--rtmp-port", "0"],
                    limit: .longestSuite)
                let credentials = LocalPlatform.application.split(separator: ":").map(String.init)
                let downloads = workspace.path("downloads")
                try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: true)
                var arguments = [
                    platform.uri, "--program", try BuiltProgram.path("pcast"), "--application", credentials[0],
                    "--secret", credentials[1], "--downloads", downloads, "--streaming-token",
                    try await workspace.token(
                        LocalPlatform.application, "--type", "publish", "--capability", "streaming", "--capability",
                        "on-demand"),
                ]
                if let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"] {
                    arguments += ["--screenshots", folder]
                }
                let browser = try Peer("administration_chromium.py", arguments, in: nil, of: workspace, seconds: 230)
                let figures = try await browser.figures()
                print("administration: \(figures["clicks"])")
            }
        }

        @Test(
            "a user logs in, sees streams and notifications, copies a link, ends a stream and plays a recording",
            .timeLimit(.minutes(10)))
        func story() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(
                    in: workspace,
                    [
                        "--webhook-allow", "127.0.0.0/8", "--data", workspace.path("data"), "--rtmp-port", "0",
                        "--srt-port", "0",
                    ],
                    limit: .longestSuite)
                let credentials = LocalPlatform.application.split(separator: ":").map(String.init)
                var arguments = [
                    platform.uri, "--program", try BuiltProgram.path("pcast"), "--application", credentials[0],
                    "--secret", credentials[1], "--token", try await platform.publishingToken(), "--streaming-token",
                    try await workspace.token(
                        LocalPlatform.application, "--type", "publish", "--capability", "streaming", "--capability",
                        "on-demand"),
                ]
                // The folder for screenshots, for a person who wants to inspect the pages.
                if let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"] {
                    arguments += ["--screenshots", folder]
                }
                let browser = try Peer("dashboard_chromium.py", arguments, in: nil, of: workspace, seconds: 230)
                let figures = try await browser.figures()
                print("dashboard: \(figures["ended"])")
                #expect(
                    !platform.program.messages.lines.values.contains {
                        $0.contains("DIGEST") || $0.contains(credentials[1])
                    })
            }
        }
    }
}

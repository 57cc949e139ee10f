import Foundation
import Testing

extension EndToEnd {
    /// The platform's offers in browsers, in the form for Phenix's Web SDK, and that SDK itself if it is available.
    @Suite("The Web SDK's protocol in browsers", .enabled(if: ThisMachine.hasEdgeAuth))
    struct WebSDKTests {
        private static let names = LocalPlatform.application.split(separator: ":").map(String.init)

        @Test(
            "a browser publishes and subscribes by the platform's offers, and the reason follows the closed connection",
            .timeLimit(.minutes(5)), arguments: ThisMachine.browsers)
        func platformOffers(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let peer = try Peer(
                    "protocol_browser.py",
                    [
                        "--url", platform.uri, "--application", Self.names[0], "--secret", Self.names[1], "--browser",
                        browser,
                    ], in: nil, of: workspace, seconds: 3)
                let figures = try await peer.figures()
                #expect(figures["reasons"].list.compactMap(\.text) == ["curtain", "curtain"])
                print("\(figures["peer"].text ?? ""): played \(figures["played"].number ?? 0) s of 3 s")
                try await platform.program.end()
            }
        }

        @Test(
            "Phenix's public Web SDK publishes and subscribes if only its address is changed",
            .enabled(if: !ThisMachine.webSDKs.isEmpty), .timeLimit(.minutes(5)), arguments: ThisMachine.webSDKs,
            ThisMachine.browsers)
        func webSDK(file: String, browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let transcript = workspace.path("transcript.txt")
                let peer = try Peer(
                    "web_sdk.py",
                    [
                        "--url", platform.uri, "--sdk", file, "--application", LocalPlatform.application, "--browser",
                        browser, "--transcript", transcript,
                    ], in: nil, of: workspace, seconds: 6)
                let figures = try await peer.figures()
                #expect(figures["callbacks"].number ?? 0 > 30)
                print("\(figures["peer"].text ?? ""), \(file):")
                print(try String(contentsOfFile: transcript, encoding: .utf8))
                try await platform.program.end()
            }
        }
    }
}

import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

@testable import PCastPlatform

/// Pages in frames of other sites, and frames of the protocol.
@Suite("Frames") struct FrameTests {
    @Test("the publish page and the dashboard cannot be framed", arguments: ["/publish", "/publish?start", "/"])
    func framing(path: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path)
            #expect(answer.header("Content-Security-Policy")?.contains("frame-ancestors 'none'") == true)
            #expect(answer.header("X-Frame-Options") == "DENY")
        }
    }

    @Test("the sites that may frame the watch page are configured, and all by default") func watch() async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", "/watch/x")
            #expect(answer.header("Content-Security-Policy")?.contains("frame-ancestors") == false)
            #expect(answer.header("X-Frame-Options") == nil)
        }
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.frameAncestors = ["'self'", "https://www.example.com"]
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            for path in ["/watch", "/watch/x", "/overlay/"] {
                let policy = try await platform.send("GET", path).header("Content-Security-Policy")
                #expect(policy?.hasSuffix("; frame-ancestors 'self' https://www.example.com") == true)
            }
            let publish = try await platform.send("GET", "/publish").header("Content-Security-Policy")
            #expect(publish?.contains("frame-ancestors 'none'") == true)
        }
    }

    @Test("the publish page starts only by a gesture, whatever its address") func gesture() async throws {
        try await TestPlatform.run { platform in
            let script = try await platform.send("GET", "/assets/publish.js").body
            // Nothing but the button begins it, and nothing else calls the module's function.
            let lines = script.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(
                lines.filter { $0.contains("begin") && !$0.hasPrefix("//") } == [
                    "function begin() {", #"element("publish").addEventListener("click", begin);"#,
                ])
            #expect(lines.filter { $0.contains("publish(") } == ["const current = publish({"])
        }
    }

    @Test("every frame of the protocol counts, and too many pings end the connection") func pings() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 4 }) { platform in
            try await ProtocolClient.run(platform) { (client) async throws in
                let begin = MonotonicClock.now()
                var request = MQRequest()
                request.requestID = "1"
                request.type = "mq.PingPong"
                request.payload = Data()
                let frame = SignalingFrame(request, form: .text)
                // A busy machine may send some pings within their rate.
                #expect(
                    try await eventually {
                        for _ in 0..<200 { try? await client.sendRaw(frame) }
                        return await client.isClosed
                    })
                // The limit is 20 at once, and four per second. Of the others, a few are answered with an error.
                let seconds = (MonotonicClock.now() - begin).seconds
                let most = 21 + ServerSignalingMachine.maximumMalformed + Int(4 * seconds)
                #expect(await client.received.count <= most)
            }
        }
    }
}

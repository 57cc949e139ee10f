import PCastPlatform
import Testing

/// The endpoint for the metrics and logs of Phenix's Web SDK.
@Suite("Telemetry") struct TelemetryTests {
    @Test("records get a response of success and are discarded", arguments: ["metrics", "logs"])
    func discarded(kind: String) async throws {
        try await TestPlatform.run { platform in
            let records = String(repeating: "record", count: 10_000)
            let answer = try await platform.send(
                "POST", "/telemetry/\(kind)",
                ["Content-Type": "application/protobuf", "Origin": "https://player.example"], body: records)
            // The SDK accepts no other status as success, and decodes the content: status “ok”, storedRecords 0.
            #expect(answer.status == 200)
            #expect(Array(answer.body.utf8) == [0x0A, 2, 0x6F, 0x6B, 0x10, 0])
            #expect(answer.header("Content-Type") == "application/protobuf")
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            let empty = try await platform.send("POST", "/telemetry/\(kind)")
            #expect(empty.status == 200)
        }
    }

    @Test("a body beyond the limit is rejected, and the next one is accepted") func limit() async throws {
        try await TestPlatform.run { platform in
            let tooLarge = String(repeating: "x", count: 1024 * 1024 + 1)
            let answer = try await platform.send("POST", "/telemetry/metrics", body: tooLarge)
            #expect(answer.status == 413)
            let most = String(repeating: "x", count: 1024 * 1024)
            #expect(try await platform.send("POST", "/telemetry/metrics", body: most).status == 200)
        }
    }

    @Test("one address posts no more often than the platform permits") func rate() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 1 }) { platform in
            let statuses = try await EndpointLimitTests.untilLimited(\.self, 429) {
                try await platform.send("POST", "/telemetry/metrics", body: "x").status
            }
            #expect(Set(statuses) == [200, 429])
        }
    }
}

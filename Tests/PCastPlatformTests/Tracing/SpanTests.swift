import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastPlatform
import Testing

/// The spans that a platform sends to a collector.
@Suite struct SpanTests {
    @Test("requests, joins and webhooks are sent to a collector over HTTP", .timeLimit(.minutes(5)))
    func exported() async throws {
        try await Backend.run { collector, collectorPort in
            try await Backend.run { backend, backendPort in
                let records = StorageConfiguration(
                    webhookAllowedNetworks: [IPNetwork("127.0.0.0/8")].compactMap { $0 })
                let configure: (inout PlatformConfiguration) -> Void = {
                    $0.otlpEndpoint = "http://127.0.0.1:\(collectorPort)"
                }
                var stream = ""
                try await TestPlatform.runConfigured(records: records, configure: configure) { platform in
                    let callback = #"{"callback":{"host":"127.0.0.1","port":\#(backendPort),"path":"/hook"}}"#
                    let answer = try await platform.ask("PUT", "/pcast/application/first/callback", callback)
                    try #require(answer.status == 200)
                    stream = try await platform.publish(token: try Tokens.make { $0.forPublishingOnly() }).0
                    #expect(try await platform.post("/whip", "no offer", token: "none").status == 401)
                    _ = try await platform.ask(
                        "DELETE", "/pcast/stream", #"{"streamId":"\#(stream)","reason":"ended"}"#)
                    _ = try await backend.receives(3)
                    // The collector receives what has ended at the latest when the platform stops.
                }
                let requests = collector.received
                #expect(!requests.isEmpty && requests.allSatisfy { $0.path == "/v1/traces" })
                let spans = try requests.flatMap { try OTLPRequest($0.body).spans }
                let join = try #require(spans.first { $0.name == "join" })
                #expect(join.attributes.contains { $0.key == "pcast.stream" && $0.value.text == stream })
                #expect(join.attributes.contains { $0.key == "pcast.role" && $0.value.text == "publisher" })
                // The client of this test sends no media.
                #expect(join.status?.code == 2)
                let checks = try #require(spans.first { $0.name == "ICE" })
                #expect(checks.parentSpanId == join.spanId && checks.traceId == join.traceId)
                #expect(checks.status?.code == 2)
                let posts = spans.filter { $0.name == "POST /whip" }
                #expect(posts.contains { $0.spanId == join.parentSpanId && $0.traceId == join.traceId && $0.kind == 2 })
                let statuses = posts.map { post in
                    post.attributes.first { $0.key == "http.response.status_code" }?.value.text ?? ""
                }
                #expect(Set(statuses) == ["201", "401"])
                let webhooks = spans.filter { $0.name == "webhook" }
                #expect(webhooks.count >= 3 && webhooks.allSatisfy { $0.kind == 3 && $0.parentSpanId == nil })
                #expect(backend.received.count >= 3)
            }
        }
    }
}

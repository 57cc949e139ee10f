import NIOCore
import NIOPosix
import PCastCore
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// The end of a platform: clients are notified, pending notifications are delivered, and the time is bounded.
@Suite struct DrainTests {
    @Test(
        "while closing it rejects clients, and publishers, viewers and backends receive maintenance",
        .timeLimit(.minutes(5)))
    func draining() async throws {
        try await Backend.run { backend, port in
            // One address never answers, so the end takes the maximum time.
            let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get()
            let records = StorageConfiguration(webhookAllowedNetworks: [IPNetwork("127.0.0.0/8")!])
            try await TestPlatform.runConfigured(records: records, configure: { $0.drainTime = .seconds(15) }) {
                platform in
                for (name, port) in [("", port), ("/silent", silent.localAddress?.port ?? 0)] {
                    let callback = #"{"callback":{"host":"127.0.0.1","port":\#(port),"path":"/hook"}}"#
                    let answer = try await platform.ask("PUT", "/pcast/application/first/callback\(name)", callback)
                    #expect(answer.status == 200)
                }
                let (_, resource) = try await platform.publish()
                try await ProtocolClient.run(platform) { client in
                    _ = try #require(try await client.authenticate())
                    let published = try #require(try await client.setUp(try Requests.publish()))
                    let viewed = try #require(try await client.setUp(try Requests.view(origin: published)))
                    let before = MonotonicClock.now()
                    platform.end()
                    #expect(try await client.reason(published) == "maintenance")
                    #expect(try await client.reason(viewed) == "maintenance")
                    let health = try await platform.send("GET", "/healthz")
                    #expect(health.status == 503 && health.body == #"{"status":"draining"}"#)
                    let refused = try await platform.post("/whip", try Offers.publisher())
                    #expect(refused.status == 503 && refused.header("Retry-After") == "5")
                    #expect(try await client.ask(try Requests.publish()) == .capacity)
                    #expect(try await eventually { try await platform.send("DELETE", resource).status == 404 })
                    let ends = try await backend.receives(6).filter { $0.content?.what == "ended" }
                    #expect(ends.map { $0.content?.data.reason } == ["maintenance", "maintenance"])
                    await platform.isOver()
                    // A busy machine may take a little longer.
                    #expect(MonotonicClock.now() - before < .seconds(60))
                }
            }
            try await silent.close()
        }
    }
}

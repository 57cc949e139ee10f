import NIOCore
import NIOPosix
import PCastCore
import PCastIO
import PCastPlatform
import PCastSignaling
import Synchronization
import Testing

/// The end of a platform: clients are notified, pending notifications are delivered, and the time is bounded.
@Suite struct DrainTests {
    @Test(
        "while closing it rejects clients, and publishers, viewers and backends receive maintenance",
        .timeLimit(.minutes(5)))
    func draining() async throws {
        try await Backend.run { backend, port in
            // One address does not answer, so that the platform does not end while the test sends requests.
            let silent = try await SilentServer()
            let records = StorageConfiguration(webhookAllowedNetworks: [IPNetwork("127.0.0.0/8")!])
            try await TestPlatform.runConfigured(
                records: records, configure: { $0.drainTime = TestPlatform.ample.duration }
            ) {
                platform in
                try await Self.register([("", port), ("/silent", silent.port)], at: platform)
                let (_, resource) = try await platform.publish()
                try await ProtocolClient.run(platform) { client in
                    _ = try #require(try await client.authenticate())
                    let published = try #require(try await client.setUp(try Requests.publish()))
                    let viewed = try #require(try await client.setUp(try Requests.view(origin: published)))
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
                    await silent.close()
                    await platform.isOver()
                }
            }
        }
    }

    @Test("an address that does not answer delays the end by the drain time at most", .timeLimit(.minutes(5)))
    func bounded() async throws {
        let silent = try await SilentServer()
        let records = StorageConfiguration(webhookAllowedNetworks: [IPNetwork("127.0.0.0/8")!])
        // The timeout of a response is an hour, so that only the drain time ends the platform.
        try await TestPlatform.runConfigured(records: records, configure: { $0.drainTime = .seconds(1) }) { platform in
            try await Self.register([("", silent.port)], at: platform)
            _ = try await platform.publish()
            #expect(try await eventually { silent.hasRequests })
            let begin = MonotonicClock.now()
            platform.end()
            await platform.isOver()
            #expect(MonotonicClock.now() - begin >= .seconds(1))
        }
        await silent.close()
    }

    private static func register(_ callbacks: [(name: String, port: Int)], at platform: TestPlatform) async throws {
        for (name, port) in callbacks {
            let callback = #"{"callback":{"host":"127.0.0.1","port":\#(port),"path":"/hook"}}"#
            let answer = try await platform.ask("PUT", "/pcast/application/first/callback\(name)", callback)
            #expect(answer.status == 200)
        }
    }

    /// A server that accepts connections and sends nothing.
    private final class SilentServer: Sendable {
        private let listening: any Channel
        private let accepted: Accepted

        init() async throws {
            let accepted = Accepted()
            listening = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    accepted.channels.withLock { $0.append(channel) }
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .bind(host: "127.0.0.1", port: 0).get()
            self.accepted = accepted
        }

        var port: Int { listening.localAddress?.port ?? 0 }
        var hasRequests: Bool { accepted.channels.withLock { !$0.isEmpty } }

        /// Closes all connections, so that the requests fail, and accepts no others.
        func close() async {
            try? await listening.close()
            for channel in accepted.channels.withLock({ $0 }) { try? await channel.close() }
        }
    }

    /// The connections that a server has accepted.
    private final class Accepted: Sendable {
        let channels = Mutex<[any Channel]>([])
    }
}

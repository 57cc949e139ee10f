import AsyncHTTPClient
import Foundation
import NIOCore
import PCast
import PCastCluster
import PCastCore
import PCastSignaling
import Testing

@testable import PCastPlatform

/// Viewers of a node of a cluster that drains.
@Suite("Viewers of a drained node")
struct MovedViewersTests {
    /// Runs a node, and one with a place for its viewers.
    private static func run(_ body: (_ node: TestPlatform, _ other: TestPlatform) async throws -> Void) async throws {
        let store = MemoryDirectoryStore()
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            configuration.cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            configuration.clusterDirectory = store.attach()
        }
        try await TestPlatform.runConfigured(configure: { configure("a", &$0) }) { node in
            try await TestPlatform.runConfigured(configure: { configure("b", &$0) }) { other in
                // The endpoints are the nodes that are known and have a place.
                let areKnown = try await eventually {
                    try await node.send("GET", "/pcast/endPoints").body.split(separator: ",").count == 2
                }
                try #require(areKnown)
                try await body(node, other)
            }
        }
    }

    @Test("viewers that receive the request to connect again end afterwards; others stay")
    func moved() async throws {
        try await Self.run { node, _ in
            let stream = try await node.publish().stream
            let moved = try await node.post("/whep/\(stream)", try Offers.viewer())
            let stays = try await node.post("/whep/\(stream)", try Offers.viewer())
            try #require(moved.status == 201 && stays.status == 201)
            let location = try #require(moved.header("Location"))
            let events = try await node.send(
                "POST", location + "/events", ["Content-Type": "application/json"], body: #"["reconnect","ended"]"#)
            let address = try #require(events.header("Location"))
            // The event stream is read before the node drains. It ends with the viewing.
            let response = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: node.uri + address), timeout: .hours(1))
            #expect(try await node.send("POST", "/pcast/nodes/a/drain").status == 200)
            let text = String(buffer: try await response.body.collect(upTo: 1 << 12)).replacing(":\n\n", with: "")
            #expect(
                text == "event: reconnect\ndata: {}\n\nevent: ended\ndata: {\"reason\":\"maintenance\"}\n\n")
            let hasEnded = try await eventually { try await node.send("GET", location).status != 204 }
            #expect(hasEnded)
            let other = try #require(stays.header("Location"))
            #expect(try await node.send("GET", other).status == 204)
            #expect(await node.platform.streams().map(\.viewers) == [1])
        }
    }

    @Test("a drained node redirects new sessions of the PCast protocol; those that exist stay")
    func redirected() async throws {
        try await Self.run { node, other in
            let expected = ClusterService.webSocket(of: other.listening.uri)
            #expect(expected.hasPrefix("ws://") && expected.hasSuffix("/ws"))
            try await ProtocolClient.run(node) { client async throws in
                let session = try #require(try await client.authenticate())
                #expect(try await node.send("POST", "/pcast/nodes/a/drain").status == 200)
                #expect(try await client.authenticate(session: session) == session)
            }
            try await ProtocolClient.run(node) { client async throws in
                let response = try await client.response(Requests.authenticate("", session: nil))
                guard case .authenticate(let refusal)? = response else {
                    Issue.record("the authentication is not answered")
                    return
                }
                #expect(refusal.status == "capacity" && refusal.redirect == expected)
            }
        }
    }

    @Test("the SDK starts at another node, if the platform redirects it")
    func redirectedSDK() async throws {
        try await Self.run { node, other in
            #expect(try await node.send("POST", "/pcast/nodes/a/drain").status == 200)
            try await Self.withClient(of: node) { client in
                #expect(client.sessionID != nil)
                let media = ApplicationMedia(channels: nil)
                let publisher = try await client.publish(mediaStream: media.mediaStream)
                #expect(await other.platform.streams().map(\.id) == [publisher.streamID])
                #expect(await node.platform.streams().isEmpty)
                media.stop()
            }
        }
    }

    @Test("a subscription of the SDK continues at another node, and a publication stays")
    func movedSubscription() async throws {
        try await Self.run { node, other in
            try await Self.withClient(of: node) { publishing in
                let media = ApplicationMedia(channels: nil)
                let publisher = try await publishing.publish(mediaStream: media.mediaStream)
                try await Self.withClient(of: node) { viewing in
                    let subscription = try await viewing.subscribe(streamID: publisher.streamID)
                    #expect(await node.platform.streams().map(\.viewers) == [1])
                    let former = viewing.sessionID
                    // The other node knows the origin of the stream before it is requested there.
                    let isKnown = try await eventually {
                        try await other.send("GET", "/pcast/nodes").body.contains("\(publisher.streamID)")
                    }
                    try #require(isKnown)
                    #expect(try await node.send("POST", "/pcast/nodes/a/drain").status == 200)
                    #expect(try await eventually { await other.platform.streams().map(\.viewers) == [1] })
                    #expect(subscription.endedInfo == nil)
                    #expect(viewing.sessionID != nil && viewing.sessionID != former)
                    #expect(await node.platform.streams().map(\.id) == [publisher.streamID])
                }
                media.stop()
            }
        }
    }

    /// Runs `body` with a client of the platform that has authenticated.
    private static func withClient(of platform: TestPlatform, _ body: (PCast) async throws -> Void) async throws {
        let client = PCast(PCastOptions(uri: platform.uri))
        try await client.start()
        do {
            try await body(client)
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }
}

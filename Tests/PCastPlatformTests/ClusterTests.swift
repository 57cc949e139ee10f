import Foundation
import NIOCore
import PCastCluster
import PCastCore
import PCastWeb
import Testing

@testable import PCastPlatform

@Suite("Platforms of a cluster")
struct ClusterTests {
    private struct NodeList: Decodable {
        struct Node: Decodable {
            let name: String
            let address: String
            let draining: Bool
        }

        struct Stream: Decodable {
            let streamId: String
        }

        let connected: Bool
        let nodes: [Node]
        let streams: [Stream]
    }

    /// Runs two platforms that share a directory in memory. `nodeSecrets` are those with which they pull streams; without
    /// them, they use that of the cluster.
    private static func run(
        capacity: Int = 100, nodeSecrets: (first: String, second: String)? = nil,
        configureSecond: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (_ first: TestPlatform, _ second: TestPlatform) async throws -> Void
    ) async throws {
        let store = MemoryDirectoryStore()
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            var cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            cluster.region = "region-\(name)"
            configuration.cluster = cluster
            configuration.clusterDirectory = store.attach()
        }
        try await TestPlatform.runConfigured(
            configure: { configuration in
                configure("a", &configuration)
                configuration.edges.secret = nodeSecrets?.first
            }
        ) { first in
            try await TestPlatform.runConfigured(
                configure: { configuration in
                    configure("b", &configuration)
                    configuration.edges.secret = nodeSecrets?.second
                    configuration.maximumPeers = capacity
                    configureSecond(&configuration)
                }
            ) { second in
                let isConnected = try await eventually {
                    let list = try await Self.nodes(of: second)
                    let other = try await Self.nodes(of: first)
                    return list.nodes.count == 2 && other.nodes.count == 2
                        && (list.nodes + other.nodes).allSatisfy { !$0.address.isEmpty }
                }
                try #require(isConnected)
                try await body(first, second)
            }
        }
    }

    private static func nodes(of platform: TestPlatform) async throws -> NodeList {
        try JSONDecoder().decode(
            NodeList.self, from: Data(try await platform.send("GET", "/pcast/nodes").body.utf8))
    }

    @Test("a WHEP viewer of another node receives the stream there")
    func edge() async throws {
        try await Self.run { first, second in
            let stream = try await first.publish().stream
            // A node that learns of the stream while it answers a request redirects the viewer to the origin instead.
            let isKnown = try await eventually {
                try await Self.nodes(of: second).streams.contains { $0.streamId == stream }
            }
            try #require(isKnown)
            #expect(try await second.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            #expect(await second.platform.streams().map(\.id) == [StreamID(stream)])
            #expect(await second.platform.streams().first?.viewers == 1)
            // The pulling node is no viewer.
            #expect(await first.platform.streams().first?.viewers == 0)
            #expect(try await second.post("/whep/unknown", try Offers.viewer()).status == 409)
        }
    }

    @Test("a node serves the playlists and files of a stream that another node packages")
    func playlists() async throws {
        let run = try EdgePair.live()
        try await Self.run { first, second in
            try await EdgePair.publish(run, at: first) {
                let index = "/video/\(PackagedRun.id)/index.m3u8?audio=opus"
                // The directory receives the announcement of the stream meanwhile.
                #expect(try await eventually { try await second.send("GET", index).status == 200 })
                let signed = try await EdgePair.signedPath(second)
                #expect(try await EdgePair.signedPath(first) == signed)
                for name in ["opus.m3u8", "video0.m3u8", "video0/i1-0.m4s"] {
                    let response = try await EdgePair.get("\(signed)/\(name)", from: second)
                    let own = try await EdgePair.get("\(signed)/\(name)", from: first)
                    #expect(response.status == 200 && response.body == own.body, "\(name)")
                }
            }
        }
    }

    @Test("a WHEP viewer is redirected to the origin of a stream that the node cannot pull")
    func redirected() async throws {
        try await Self.run(nodeSecrets: ("a secret of the nodes", "another secret of nodes")) { first, second in
            let stream = try await first.publish().stream
            // The HTTP client follows the redirection. The viewer is at the first node then.
            let hasJoined = try await eventually {
                try await second.post("/whep/\(stream)", try Offers.viewer()).status == 201
            }
            #expect(hasJoined)
            #expect(await first.platform.streams().first?.viewers == 1)
            #expect(await second.platform.streams().isEmpty)
        }
    }

    @Test("endpoints are listed by region, and a drained node sends clients to the other one")
    func drained() async throws {
        try await Self.run { first, second in
            let endPoint = { (platform: TestPlatform) in "\(platform.listening.uri)/pcast/endPoint" }
            let listed = try await second.send("GET", "/pcast/endPoints").body
            #expect(listed == "\(endPoint(second)),\(endPoint(first))")
            let near = try await second.send("GET", "/pcast/endPoints?region=region-a").body
            #expect(near == "\(endPoint(first)),\(endPoint(second))")

            #expect(try await first.send("POST", "/pcast/nodes/c/drain").status == 404)
            // The name is percent-encoded, because it may contain any characters of ASCII.
            #expect(try await first.send("POST", "/pcast/nodes/%62/drain").status == 200)
            let isDrained = try await eventually {
                let node = try await Self.nodes(of: first).nodes.first { $0.name == "b" }
                return node?.draining == true
            }
            #expect(isDrained)
            #expect(try await second.send("GET", "/pcast/endPoints").body == endPoint(first))
            let answer = try await second.post("/whip", try Offers.publisher())
            #expect(answer.status == 201)
            #expect(await first.platform.streams().count == 1)
            #expect(await second.platform.streams().isEmpty)
        }
    }

    @Test("a full node redirects publishers to another node")
    func full() async throws {
        try await Self.run(capacity: 1) { first, second in
            _ = try await second.publish()
            let answer = try await second.post("/whip", try Offers.publisher())
            #expect(answer.status == 201)
            #expect(await first.platform.streams().count == 1)
            #expect(await second.platform.streams().count == 1)
        }
    }

    @Test("a client beyond the limit of its application is rejected, and not redirected to another node")
    func applicationLimit() async throws {
        try await Self.run(configureSecond: { $0.limits[.streamsPerApplication] = 1 }) { first, second in
            _ = try await second.publish()
            #expect(try await second.post("/whip", try Offers.publisher()).status == 503)
            #expect(await first.platform.streams().isEmpty)
        }
    }

    @Test("without a cluster there are no nodes, and the endpoint is that of the request")
    func alone() async throws {
        try await TestPlatform.run { platform in
            #expect(try await platform.send("GET", "/pcast/nodes").status == 404)
            #expect(try await platform.send("POST", "/pcast/nodes/a/drain").status == 404)
            let endPoints = try await platform.send("GET", "/pcast/endPoints").body
            #expect(endPoints == "\(platform.uri)/pcast/endPoint")
        }
    }

    @Test(
        "nodes of the region come first, and among them those with the smallest load; full and drained ones are left out"
    )
    func order() {
        let node = { (name: String, region: String, viewers: Int, isDraining: Bool) in
            ClusterNode(
                name: name, incarnation: 1, address: "http://\(name)", region: region,
                load: NodeLoad(viewers: viewers, capacity: 10), isDraining: isDraining)
        }
        let nodes = [
            node("a", "x", 5, false), node("b", "y", 1, false), node("c", "x", 2, false), node("d", "x", 10, false),
            node("e", "x", 0, true), node("f", "y", 0, false),
        ]
        #expect(ClusterService.order(nodes, region: "x").map(\.name) == ["c", "a", "f", "b"])
        #expect(ClusterService.order(nodes, region: "").map(\.name) == ["f", "b", "c", "a"])
        var busy = node("g", "x", 0, false)
        busy.load.processor = 0.9
        #expect(ClusterService.order(nodes + [busy], region: "x").map(\.name) == ["c", "a", "g", "f", "b"])
    }
}

import Foundation
import NIOCore
import PCastCluster
import PCastCore
import PCastRTMP
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
        capacity: Int = 100, nodeSecrets: (first: String, second: String)? = nil, rtmpPort: Int? = nil,
        configureSecond: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (_ first: TestPlatform, _ second: TestPlatform) async throws -> Void
    ) async throws {
        let store = MemoryDirectoryStore()
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            var cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            cluster.region = "region-\(name)"
            configuration.cluster = cluster
            configuration.clusterDirectory = store.attach()
            configuration.rtmp.port = rtmpPort
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

    @Test("a drained node requests RTMP publishers to connect to the port of another node, if they support it")
    func drainedRTMP() async throws {
        try await Self.run(rtmpPort: 0) { first, second in
            let port = try #require(second.listening.rtmp.port)
            let other = try #require(first.listening.rtmp.port)
            // A key has one publisher.
            let key = try Tokens.make { $0.forPublishingOnly().applyTag("legacy") }
            let legacy = try await RTMPEncoder.publish(key, to: port)
            let encoder = try await RTMPEncoder.publish(
                try Tokens.publishing(), to: port, capabilities: [.reconnect, .multitrack])
            for publisher in [legacy, encoder] {
                #expect(try await publisher.isAccepted())
                try await publisher.sendConfiguration()
                try await publisher.sendFrame(isKeyFrame: true, timestamp: 0)
            }
            #expect(try await second.reaches("pcast_streams", 2))
            #expect(try await first.send("POST", "/pcast/nodes/b/drain").status == 200)
            #expect(try await encoder.receives("NetConnection.Connect.ReconnectRequest"))
            #expect(try await encoder.receives("rtmp://127.0.0.1:\(other)/ingest"))
            #expect(!legacy.hasReceived("ReconnectRequest"))
            // The streams continue until the publishers close their connections.
            #expect(await second.platform.streams().count == 2)
            let moved = try await RTMPEncoder.publish(try Tokens.publishing(), to: other, capabilities: .reconnect)
            #expect(try await moved.isAccepted())
            try await encoder.unpublish()
            #expect(try await second.reaches("pcast_streams", 1))
        }
    }

    @Test("the address for RTMP has the host of the node and its port")
    func rtmpAddress() {
        var node = ClusterNode(name: "a", incarnation: 1, address: "https://a.example.com/media", region: "")
        #expect(ClusterService.rtmpAddress(of: node, isSecure: false) == nil)
        (node.rtmpPort, node.rtmpsPort) = (1_935, 1_936)
        #expect(ClusterService.rtmpAddress(of: node, isSecure: false) == "rtmp://a.example.com:1935/ingest")
        #expect(ClusterService.rtmpAddress(of: node, isSecure: true) == "rtmps://a.example.com:1936/ingest")
        node.address = "http://[2001:db8::1]:8080"
        #expect(ClusterService.rtmpAddress(of: node, isSecure: false) == "rtmp://[2001:db8::1]:1935/ingest")
    }

    @Test("the metrics of a node have the state of the directory")
    func metrics() async throws {
        try await Self.run { _, second async throws in
            #expect(try await second.reaches("pcast_cluster_connected", 1))
            #expect(try await second.reaches("pcast_cluster_nodes", 2))
            #expect(try await second.reaches("pcast_cluster_conflicts_total", 0))
            let counts = ClusterService.Counts(isConnected: false, nodes: 3, conflicts: 4, rejected: 5)
            var metrics = MetricsText()
            metrics.add(counts)
            for line in [
                "pcast_cluster_connected 0", "pcast_cluster_nodes 3", "pcast_cluster_conflicts_total 4",
                "pcast_cluster_values_rejected_total 5",
            ] { #expect(metrics.text.contains(line + "\n"), "\(line)") }
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

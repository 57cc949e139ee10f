import Foundation
import PCastCluster
import PCastCore
import PCastSFU
import Testing

@testable import PCastPlatform

@Suite("The list of nodes and their streams")
struct NodeListTests {
    private struct NodeList: Decodable {
        struct Node: Decodable {
            let name: String
            let draining: Bool
        }

        struct Stream: Decodable {
            let name: String
            let streamId: String
            let applicationId: String
            let node: String
            let pulled: Bool
            let links: Int
        }

        let node: String
        let nodes: [Node]
        let streams: [Stream]
        let streamCount: Int
    }

    private struct AuditEntries: Decodable {
        let entries: [AuditLog.Entry]
    }

    /// A request that does not come from this host, according to the platform.
    private static let remote = ["X-Forwarded-For": "203.0.113.1"]
    private static let script = ["PCast-Dashboard": "1", "X-Forwarded-For": "203.0.113.1"]

    /// Runs a platform that is a node of a cluster.
    private static func run(
        applications: [PlatformConfiguration.Application] = [TestPlatform.application],
        _ body: (TestPlatform) async throws -> Void
    ) async throws {
        let store = MemoryDirectoryStore()
        try await TestPlatform.runConfigured(
            applications: applications,
            configure: { configuration in
                configuration.cluster = ClusterConfiguration(
                    servers: [], node: "a", secret: "a secret of the cluster")
                configuration.clusterDirectory = store.attach()
            }, body)
    }

    private static func list(_ platform: TestPlatform, _ headers: [String: String] = [:]) async throws -> NodeList {
        let body = try await platform.send("GET", "/pcast/nodes", headers).body
        return try JSONDecoder().decode(NodeList.self, from: Data(body.utf8))
    }

    private static func logIn(_ platform: TestPlatform) async throws -> [String: String] {
        var headers = script
        headers["Content-Type"] = "application/json"
        let answer = try await platform.send(
            "POST", "/dashboard/login", headers, body: #"{"applicationId":"first","secret":"sesame"}"#)
        let cookie = try #require(answer.header("Set-Cookie")).prefix { $0 != ";" }
        return script.merging(["Cookie": String(cookie)]) { $1 }
    }

    @Test("a stream is listed with its origin")
    func streams() async throws {
        try await Self.run { platform in
            let (stream, _) = try await platform.publish()
            let list = try await Self.list(platform)
            #expect(list.node == "a" && list.nodes.map(\.name) == ["a"])
            #expect(list.streamCount == 1)
            let listed = try #require(list.streams.first)
            #expect(listed.name == stream && listed.streamId == stream && listed.node == "a")
            #expect(listed.applicationId == "first" && !listed.pulled && listed.links == 0)
        }
    }

    @Test("a user of the dashboard lists nodes with each role, and drains them with the role “operate”")
    func roles() async throws {
        let (store, signer) = (MemoryDirectoryStore(), TokenIssuerTests.Signer("one"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("jwks-\(UUID().uuidString).json")
        try TokenIssuerTests.Signer.set([signer]).write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let configure: (inout PlatformConfiguration) -> Void = { configuration in
            configuration.cluster = ClusterConfiguration(servers: [], node: "a", secret: "a secret of the cluster")
            configuration.clusterDirectory = store.attach()
            configuration.tokenIssuer = TokenIssuerConfiguration(
                keys: file.path, issuer: "https://login.example", audience: "pcast")
        }
        let headers = Self.script.merging(["Content-Type": "application/json"]) { $1 }
        try await TestPlatform.runConfigured(applications: [TestPlatform.application], configure: configure) {
            platform in
            for (role, status) in [("view", 403), ("operate", 200)] {
                let token = try signer.token(#"{"applicationId":"first","role":"\#(role)"}"#)
                let answer = try await platform.send(
                    "POST", "/dashboard/login", headers, body: #"{"token":"\#(token)"}"#)
                let cookie = String(try #require(answer.header("Set-Cookie")).prefix { $0 != ";" })
                let login = Self.script.merging(["Cookie": cookie]) { $1 }
                #expect(try await platform.send("GET", "/pcast/nodes", login).status == 200, "\(role)")
                #expect(try await platform.send("POST", "/pcast/nodes/a/drain", login).status == status, "\(role)")
            }
        }
    }

    @Test("the dashboard of a single application lists and drains nodes; other remote clients do not")
    func dashboard() async throws {
        try await Self.run { platform in
            #expect(try await platform.send("GET", "/pcast/nodes", Self.remote).status == 403)
            #expect(try await platform.send("POST", "/pcast/nodes/a/drain", Self.remote).status == 403)
            let login = try await Self.logIn(platform)
            let state = try await platform.send("GET", "/dashboard/login", login)
            #expect(state.body.contains(#""nodes":true"#))
            #expect(try await Self.list(platform, login).nodes.map(\.draining) == [false])
            // A page of another site does not send the header field.
            var foreign = login
            foreign["PCast-Dashboard"] = nil
            #expect(try await platform.send("POST", "/pcast/nodes/a/drain", foreign).status == 403)
            #expect(try await platform.send("POST", "/pcast/nodes/a/drain", login).status == 200)
            #expect(try await Self.list(platform, login).nodes.map(\.draining) == [true])
            // The audit log has the change, and not the requests without a login.
            let audit = try await platform.ask("GET", "/pcast/audit").body
            let entries = try JSONDecoder().decode(AuditEntries.self, from: Data(audit.utf8)).entries
            #expect(entries.map(\.path) == ["/pcast/nodes/a/drain"])
            #expect(entries.map(\.credentials) == ["dashboard"] && entries.map(\.status) == [200])
        }
    }

    @Test("the dashboard of one of several applications does not see the nodes")
    func several() async throws {
        let applications = [TestPlatform.application, TestPlatform.otherApplication]
        try await Self.run(applications: applications) { platform in
            let login = try await Self.logIn(platform)
            #expect(try await platform.send("GET", "/dashboard/login", login).body == #"{"applicationId":"first"}"#)
            #expect(try await platform.send("GET", "/pcast/nodes", login).status == 403)
            #expect(try await platform.send("GET", "/pcast/nodes").status == 200)
        }
    }

    @Test("a declared name that another node publishes is pulled from it")
    func declaredName() async throws {
        let store = MemoryDirectoryStore()
        let declared = try StreamDeclarations([StreamDeclaration(name: "show")])
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            configuration.cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            configuration.clusterDirectory = store.attach()
            configuration.streams = declared
            configuration.rtmp.port = 0
        }
        try await TestPlatform.runConfigured(configure: { configure("a", &$0) }) { first in
            try await TestPlatform.runConfigured(configure: { configure("b", &$0) }) { second in
                let token = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
                let encoder = try await RTMPEncoder.publish(token, to: try #require(first.listening.rtmp.port))
                try await encoder.sendConfiguration()
                let frames = Task {
                    for time in stride(from: UInt32(0), to: .max, by: 50) {
                        try await encoder.sendFrame(isKeyFrame: time % 1_000 == 0, timestamp: time)
                        try await ContinuousClock().sleep(for: .milliseconds(50))
                    }
                }
                // Before the name is announced, and if the pull fails, the viewer is not at the second node.
                let isPulled = try await eventually {
                    _ = try await second.post("/whep/show", Offers.viewer())
                    return try await Self.list(second).streams.contains { $0.name == "show" && $0.pulled }
                }
                #expect(isPulled)
                let links = try await eventually { try await Self.list(first).streams.contains { $0.links == 1 } }
                #expect(links)
                frames.cancel()
                try await encoder.close()
            }
        }
    }

    @Test("a platform without other nodes has no metrics of links")
    func metrics() async throws {
        try await TestPlatform.run { platform in
            let text = try await platform.send("GET", "/metrics").body
            #expect(!text.contains("pcast_node_links"))
        }
        try await Self.run { platform in
            let text = try await platform.send("GET", "/metrics").body
            #expect(text.contains("pcast_node_links 0\n") && text.contains("pcast_pulls_total 0\n"))
        }
    }
}

@Suite("The traffic of links")
struct NodeLinkMetricsTests {
    private func pulled(_ stream: String, _ node: String, packets: Int, lost: Int = 0) -> NodeLinkMetrics.Pulled {
        var received = StreamMetrics.Counts()
        (received.packets, received.bytes, received.packetsLost) = (packets, packets * 100, lost)
        return NodeLinkMetrics.Pulled(stream: StreamID(stream), node: node, received: received)
    }

    @Test("traffic is summed for each node, and stays when a stream ends")
    func totals() {
        let links = NodeLinkMetrics()
        _ = links.update([pulled("x", "a", packets: 10), pulled("y", "a", packets: 5), pulled("z", "b", packets: 1)])
        let totals = links.update([pulled("x", "a", packets: 30, lost: 2)])
        #expect(totals["a"] == NodeLinkMetrics.Totals(streams: 1, packets: 35, bytes: 3_500, packetsLost: 2))
        #expect(totals["b"] == NodeLinkMetrics.Totals(streams: 0, packets: 1, bytes: 100))
    }

    @Test("a stream that is pulled again begins with counters of zero")
    func again() {
        let links = NodeLinkMetrics()
        _ = links.update([pulled("x", "a", packets: 10)])
        _ = links.update([])
        #expect(links.update([pulled("x", "a", packets: 4)])["a"]?.packets == 14)
        // Between two samples, the stream ended and was pulled again: only later traffic is counted.
        #expect(links.update([pulled("x", "a", packets: 3)])["a"]?.packets == 14)
    }

    @Test("the number of nodes with their own values has a bound")
    func bound() {
        let links = NodeLinkMetrics()
        let streams = (0..<NodeLinkMetrics.capacity + 50).map { pulled("x\($0)", "node-\($0)", packets: 2) }
        let totals = links.update(streams)
        #expect(totals.count == NodeLinkMetrics.capacity + 1)
        #expect(totals[NodeLinkMetrics.otherNode]?.packets == 100)
    }

    @Test("the text has a series for each node")
    func text() {
        var metrics = MetricsText()
        metrics.add(
            ["b": NodeLinkMetrics.Totals(streams: 1, packets: 2, bytes: 3, packetsLost: 4, retransmissions: 5)],
            links: 6, pulls: 7)
        for line in [
            "pcast_node_links 6", "pcast_pulls_total 7", #"pcast_pulled_streams{node="b"} 1"#,
            #"pcast_link_packets_received_total{node="b"} 2"#, #"pcast_link_bytes_received_total{node="b"} 3"#,
            #"pcast_link_packets_lost_total{node="b"} 4"#, #"pcast_link_packets_retransmitted_total{node="b"} 5"#,
        ] { #expect(metrics.text.contains(line + "\n"), "\(line)") }
    }
}

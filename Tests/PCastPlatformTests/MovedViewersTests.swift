import AsyncHTTPClient
import Foundation
import NIOCore
import PCastCluster
import PCastCore
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
}

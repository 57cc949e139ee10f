import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastWebRTC
import Testing

@testable import PCastPlatform

/// The reason why a stream has ended, which an edge requests from its origin.
@Suite("The end of streams at edges") struct EdgeEndTests {
    /// Requests the end of a stream as an edge does. Returns the status, and the reason with its text.
    private static func end(of stream: String, at platform: TestPlatform) async throws -> (status: Int, text: String) {
        let signer = try #require(NodeSignature(secret: EdgePair.secret))
        let message = NodeEndRequest(application: TestPlatform.application.id.description, stream: stream)
        let envelope = NodeEnvelope(message, .end, nonce: RandomIdentifier.make(), by: signer)
        let answer = try await platform.send(
            "POST", NodeRoutes.ends, ["Content-Type": "application/json"],
            body: String(decoding: envelope.bytes, as: UTF8.self))
        guard answer.status == 200, let response = NodeEnvelope(Array(answer.body.utf8)) else {
            return (answer.status, "")
        }
        let end = try response.message(NodeStreamEnd.self, .ended, by: signer)
        return (answer.status, "\(end.reason) \(end.description)")
    }

    @Test("an edge ends a stream with the reason of its origin, and knows that it has ended")
    func reason() async throws {
        try await TestPlatform.runConfigured(configure: { $0.edges.secret = EdgePair.secret }) { origin in
            try await TestPlatform.runConfigured(
                configure: {
                    $0.edges.origins = [origin.uri]
                    $0.edges.secret = EdgePair.secret
                    $0.edges.closeAfter = .seconds(3_600)
                }
            ) { edge in
                let publisher = try FramePeer(.publish(video: .vp8, audio: true))
                let stream = try await publisher.publish(to: origin)
                let viewer = try FramePeer.viewer()
                _ = try await viewer.view(stream, at: edge)
                #expect(try await eventually { viewer.isConnected })
                #expect(
                    try await eventually {
                        try await publisher.sendFrames()
                        return !viewer.videoNumbers.isEmpty
                    })
                #expect(try await Self.end(of: stream, at: origin).status == 503)
                #expect(try await Self.end(of: "unknown", at: origin).status == 404)
                let body = #"{"streamId":"\#(stream)","reason":"the game is over"}"#
                #expect(try await origin.ask("DELETE", "/pcast/stream", body).status == 200)
                let isKnown = try await eventually {
                    try await Self.end(of: stream, at: origin).text == "custom the game is over"
                }
                #expect(isKnown)
                #expect(try await eventually { viewer.isClosed })
                let isPassedOn = try await eventually {
                    try await Self.end(of: stream, at: edge).text == "custom the game is over"
                }
                #expect(isPassedOn)
            }
        }
    }

    @Test(
        "a revoked token of a publisher ends its stream for viewers at edges with that reason",
        .timeLimit(.minutes(5)), arguments: [false, true])
    func revocation(isRevokedAtEdge: Bool) async throws {
        let store = MemoryDirectoryStore()
        let configure = { (name: String, configuration: inout PlatformConfiguration) in
            configuration.cluster = ClusterConfiguration(servers: [], node: name, secret: "a secret of the cluster")
            configuration.clusterDirectory = store.attach()
            configuration.edges.secret = EdgePair.secret
            configuration.edges.closeAfter = .seconds(3_600)
        }
        try await TestPlatform.runConfigured(configure: { configure("a", &$0) }) { origin in
            try await TestPlatform.runConfigured(configure: { configure("b", &$0) }) { edge in
                let token = try EdgeTokenBuilder().withApplicationId("first").withSecret("sesame")
                    .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime()).forPublishingOnly().build()
                let publisher = try FramePeer(.publish(video: .vp8, audio: true))
                let stream = try await publisher.publish(to: origin, token: token)
                // A stream can be pulled when the address of its node is known, too.
                let port = try #require(origin.uri.split(separator: ":").last)
                let isKnown = try await eventually {
                    let nodes = try await edge.send("GET", "/pcast/nodes").body
                    return nodes.contains(stream) && nodes.contains(":\(port)")
                }
                try #require(isKnown)
                let viewer = try FramePeer.viewer()
                let resource = try await viewer.view(stream, at: edge)
                let events = try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: "\(edge.uri)\(resource)/events"), timeout: .hours(1))
                try #require(events.status == .ok)
                let hasVideo = try await eventually {
                    try await publisher.sendFrames()
                    return !viewer.videoNumbers.isEmpty
                }
                #expect(hasVideo)
                let node = isRevokedAtEdge ? edge : origin
                let body = #"{"token":"\#(token)"}"#
                #expect(try await node.ask("POST", "/pcast/token/revocation", body).status == 200)
                var text = ""
                for try await bytes in events.body { text += String(buffer: bytes) }
                #expect(text.contains("event: ended") && text.contains("access revoked"), "\(text)")
                #expect(try await eventually { viewer.isClosed })
                let isRemembered = try await eventually {
                    try await Self.end(of: stream, at: edge).text == "custom access revoked"
                }
                #expect(isRemembered)
            }
        }
    }
}

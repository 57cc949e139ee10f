import Foundation
import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastWebRTC
import Synchronization
import Testing

/// Two platforms, of which one is an edge of the other. Media are sent over loopback.
@Suite struct EdgeTests {
    static let secret = "a secret of the nodes"

    /// Runs an origin, and an edge of it.
    private static func run(
        secret: String = secret, closeAfter: Duration = .seconds(3_600), originLog: LogRecord = LogRecord(),
        edgeLog: LogRecord = LogRecord(), _ body: (_ origin: TestPlatform, _ edge: TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            logger: originLog.logger, configure: { $0.edges.secret = Self.secret }
        ) { origin in
            try await TestPlatform.runConfigured(
                logger: edgeLog.logger,
                configure: {
                    $0.edges.origins = [origin.uri]
                    $0.edges.secret = secret
                    $0.edges.closeAfter = closeAfter
                }
            ) { edge in try await body(origin, edge) }
        }
    }

    @Test("viewers at an edge receive all frames and audio, and the stream is pulled once")
    func whole() async throws {
        let log = LogRecord()
        try await Self.run(originLog: log) { origin, edge in
            let publisher = try FramePeer(.publish(video: .vp8, audio: true))
            let stream = try await publisher.publish(to: origin)
            // The requests of both viewers are concurrent.
            let viewers = [try FramePeer.viewer(), try FramePeer.viewer()]
            async let first = viewers[0].view(stream, at: edge)
            async let second = viewers[1].view(stream, at: edge)
            _ = try await (first, second)
            #expect(
                try await eventually {
                    try await publisher.sendFrames()
                    return viewers.allSatisfy { $0.videoNumbers.count >= 60 && $0.audioCount >= 60 }
                })
            for viewer in viewers {
                let numbers = viewer.videoNumbers
                #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "a frame is missing")
            }
            #expect(log.lines.count { $0.contains("stream offered to a node") } == 1)
            #expect(await edge.platform.streams().map(\.id) == [StreamID(stream)])
        }
    }

    @Test("a layer is switched at the edge")
    func layers() async throws {
        try await Self.run { origin, edge in
            let publisher = try FramePeer(.publish(video: .vp8, audio: true, layers: 3))
            let stream = try await publisher.publish(to: origin)
            let viewer = try FramePeer.viewer()
            let resource = try await viewer.view(stream, at: edge)
            for (index, layer) in ["l", "m", "h"].enumerated() {
                let body = #"{"mediaId":"0","encodingId":"\#(layer)"}"#
                let answer = try await edge.send(
                    "POST", resource + "/layer", ["Content-Type": "application/json"], body: body)
                #expect(answer.status == 200)
                #expect(
                    try await eventually {
                        try await publisher.sendFrames()
                        return viewer.lastLayer == index
                    }, "the layer \(layer) did not arrive")
            }
        }
    }

    @Test("a stream without viewers at the edge is released, and continues at its origin")
    func release() async throws {
        try await Self.run(closeAfter: .seconds(2)) { origin, edge in
            let publisher = try FramePeer(.publish(video: .vp8, audio: true))
            let stream = try await publisher.publish(to: origin)
            let viewer = try FramePeer.viewer()
            let resource = try await viewer.view(stream, at: edge)
            #expect(
                try await eventually {
                    try await publisher.sendFrames()
                    return !viewer.videoNumbers.isEmpty
                })
            #expect(await edge.platform.streams().count == 1)
            #expect(try await edge.send("DELETE", resource).status == 200)
            #expect(try await eventually { await edge.platform.streams().isEmpty })
            #expect(await origin.platform.streams().map(\.id) == [StreamID(stream)])
            // A later viewer begins another pull.
            let late = try FramePeer.viewer()
            _ = try await late.view(stream, at: edge)
            #expect(
                try await eventually {
                    try await publisher.sendFrames()
                    return !late.videoNumbers.isEmpty
                })
        }
    }

    @Test("the end of a stream at its origin ends it for viewers at the edge")
    func end() async throws {
        try await Self.run { origin, edge in
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
            #expect(await origin.platform.end(StreamID(stream)))
            #expect(try await eventually { await edge.platform.streams().isEmpty })
            #expect(try await eventually { viewer.isClosed })
        }
    }

    @Test("a node with another secret is rejected, and the log does not contain the secrets")
    func wrongSecret() async throws {
        let (originLog, edgeLog) = (LogRecord(), LogRecord())
        let wrong = "another secret of nodes"
        try await Self.run(secret: wrong, originLog: originLog, edgeLog: edgeLog) { origin, edge in
            let stream = try await origin.publish().stream
            let answer = try await edge.post("/whep/\(stream)", try Offers.viewer())
            #expect(answer.status == 409)
            #expect(!answer.body.contains(wrong))
            #expect(originLog.lines.contains { $0.contains("node rejected") && $0.contains("wrong signature") })
            #expect(edgeLog.lines.contains { $0.contains("the origin rejected this node") })
            for line in originLog.lines + edgeLog.lines {
                #expect(!line.contains(wrong) && !line.contains(Self.secret))
            }
            let garbage = try await origin.send("POST", "/pcast/node/streams", body: "{}")
            #expect(garbage.status == 400)
        }
    }

    @Test("a request that was recorded is not accepted again")
    func recorded() async throws {
        try await TestPlatform.runConfigured(configure: { $0.edges.secret = Self.secret }) { origin in
            let stream = try await origin.publish().stream
            let signer = try #require(NodeSignature(secret: Self.secret))
            let payload = #"{"application":"first","stream":"\#(stream)","hops":["node-of-the-test"]}"#
            func message(nonce: String) throws -> String {
                let signature = signer.sign(payload, purpose: "request", nonce: nonce)
                let envelope = ["nonce": nonce, "payload": payload, "signature": signature]
                return String(decoding: try JSONEncoder().encode(envelope), as: UTF8.self)
            }
            let first = try message(nonce: "first nonce of a test")
            #expect(try await origin.send("POST", "/pcast/node/streams", body: first).status == 200)
            #expect(try await origin.send("POST", "/pcast/node/streams", body: first).status == 409)
            let second = try message(nonce: "second nonce of a test")
            #expect(try await origin.send("POST", "/pcast/node/streams", body: second).status == 200)
            let tooShort = try message(nonce: "short")
            #expect(try await origin.send("POST", "/pcast/node/streams", body: tooShort).status == 400)
        }
    }

    @Test("a platform without a secret of the nodes has no endpoint for them")
    func withoutSecret() async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("POST", "/pcast/node/streams", body: "{}").status == 404)
        }
    }

    /// Origins that are known after the platforms have started.
    private final class LateOrigins: StreamOrigins {
        let uris = Mutex<[String]>([])

        func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin] {
            uris.withLock { $0 }.map { StreamOrigin(uri: $0) }
        }
    }

    @Test("two platforms that are origins of each other do not pull a stream in a circle")
    func loop() async throws {
        let (log, known) = (LogRecord(), LateOrigins())
        try await TestPlatform.runConfigured(
            logger: log.logger,
            configure: {
                $0.edges.secret = Self.secret
                $0.edges.directory = known
            }
        ) { first in
            try await TestPlatform.runConfigured(
                configure: {
                    $0.edges.secret = Self.secret
                    $0.edges.origins = [first.uri]
                }
            ) { second in
                known.uris.withLock { $0 = [second.uri] }
                let answer = try await first.post("/whep/unknown", try Offers.viewer())
                #expect(answer.status == 409)
                #expect(log.lines.contains { $0.contains("node rejected") && $0.contains("would return") })
                // A stream of one of them is still pulled by the other.
                let stream = try await first.publish().stream
                #expect(try await second.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            }
        }
    }

    @Test(
        "two nodes that pull a stream from each other at the same time ask their next origin", .timeLimit(.minutes(10)))
    func mutual() async throws {
        let known = [LateOrigins(), LateOrigins()]
        try await TestPlatform.runConfigured(
            configure: {
                $0.edges.secret = Self.secret
                $0.edges.directory = known[0]
            }
        ) { first in
            try await TestPlatform.runConfigured(
                configure: {
                    $0.edges.secret = Self.secret
                    $0.edges.directory = known[1]
                }
            ) { second in
                try await TestPlatform.runConfigured(configure: { $0.edges.secret = Self.secret }) { third in
                    known[0].uris.withLock { $0 = [second.uri, third.uri] }
                    known[1].uris.withLock { $0 = [first.uri, third.uri] }
                    let stream = try await third.publish().stream
                    let offers = [try Offers.viewer(), try Offers.viewer()]
                    async let atFirst = first.post("/whep/\(stream)", offers[0])
                    async let atSecond = second.post("/whep/\(stream)", offers[1])
                    let statuses = try await [atFirst.status, atSecond.status]
                    #expect(statuses == [201, 201])
                }
            }
        }
    }

    @Test("a chain of edges is pulled through, and a node beyond the maximum depth is refused")
    func chain() async throws {
        try await TestPlatform.runConfigured(configure: { $0.edges.secret = Self.secret }) { origin in
            let stream = try await origin.publish().stream
            try await Self.edges(EdgeConfiguration.maximumDepth, of: origin) { edges in
                for edge in edges.dropLast() {
                    #expect(try await edge.post("/whep/\(stream)", try Offers.viewer()).status == 201)
                }
                let tooDeep = try #require(edges.last)
                #expect(try await tooDeep.post("/whep/\(stream)", try Offers.viewer()).status == 409)
            }
        }
    }

    /// Runs edges, each of which has the one before as its origin.
    private static func edges(
        _ count: Int, of origin: TestPlatform, before: [TestPlatform] = [],
        _ body: ([TestPlatform]) async throws -> Void
    ) async throws {
        guard count > 0 else { return try await body(before) }
        try await TestPlatform.runConfigured(
            configure: {
                $0.edges.secret = secret
                $0.edges.origins = [origin.uri]
            }
        ) { edge in try await edges(count - 1, of: edge, before: before + [edge], body) }
    }
}

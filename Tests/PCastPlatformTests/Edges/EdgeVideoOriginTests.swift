import NIOCore
import NIOHTTP1
import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization
import Testing

@testable import PCastPlatform

/// HLS at edges whose origins change, fail, or are edges themselves.
@Suite("Origins of HLS at edges", .timeLimit(.minutes(10))) struct EdgeVideoOriginTests {
    private static let index = "/video/\(PackagedRun.id)/index.m3u8?audio=opus"

    /// Origins that a test changes.
    private final class ChangingOrigins: StreamOrigins {
        let known = Mutex<[StreamOrigin]>([])

        func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin] {
            known.withLock { $0 }
        }
    }

    /// Runs an edge whose origins a test changes.
    private static func edge(_ origins: ChangingOrigins, _ body: (TestPlatform) async throws -> Void) async throws {
        try await EdgePair.edge(of: [], configure: { $0.edges.directory = origins }, body)
    }

    @Test(
        "the stream of a real publisher is watched at an edge, by its identifier or by a declared name",
        arguments: [nil, "show"])
    func publisher(name: String?) async throws {
        var declaration = StreamDeclaration(name: "show")
        declaration.closeAfter = .seconds(3_600)
        let declared = try StreamDeclarations(name == nil ? [] : [declaration])
        let token = try name.map { name in
            try Tokens.make { $0.forPublishingOnly().applyTag("name:\(name)") }
        }
        try await TestPlatform.runConfigured(
            configure: {
                $0.edges.secret = EdgePair.secret
                $0.hls.packagesEveryStream = true
                $0.hls.segmentDuration = .seconds(1)
                $0.streams = declared
            }
        ) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                // The audio is packaged.
                let publisher = try FramePeer(.publish(video: .vp8, audio: true))
                let published = try await publisher.publish(to: origin, token: token)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        while !Task.isCancelled {
                            try await publisher.sendFrames()
                            // The duration of a packet.
                            try? await ContinuousClock().sleep(for: .milliseconds(20))
                        }
                    }
                    try await Self.watch(name ?? published, at: edge, of: origin)
                    group.cancelAll()
                }
                guard name == nil else { return }
                let signed = try await EdgePair.signedPath(edge, stream: published)
                #expect(await origin.platform.end(StreamID(published)))
                let renditions = try await Self.renditions(at: "\(signed)/index.m3u8?audio=opus", edge)
                let rendition = try #require(renditions.first)
                let hasEnd = try await eventually {
                    try await EdgePair.text("\(signed)/\(rendition)", from: edge).contains("#EXT-X-ENDLIST")
                }
                #expect(hasEnd)
                // New viewers receive the answer for a stream that has ended.
                let isGone = try await eventually {
                    try await edge.send("GET", "/video/\(published)/index.m3u8").status == 404
                }
                #expect(isGone)
            }
        }
    }

    /// Compares what an edge and the origin serve of a stream, when it has a segment.
    private static func watch(_ stream: String, at edge: TestPlatform, of origin: TestPlatform) async throws {
        let index = "/video/\(stream)/index.m3u8?audio=opus"
        let isReady = try await eventually {
            let status = try await edge.send("GET", index).status
            #expect([200, 404, 503].contains(status))
            return status == 200
        }
        try #require(isReady)
        // The edge keeps the playlist for a second, and its bit rates change meanwhile.
        let isSame = try await eventually {
            try await EdgePair.text(index, from: edge) == EdgePair.text(index, from: origin)
        }
        #expect(isSame)
        let signed = try await EdgePair.signedPath(edge, stream: stream)
        let renditions = try await renditions(at: index, edge)
        let rendition = try #require(renditions.first)
        let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/\(rendition)", from: edge))
        let file = try #require(playlist.segments.first { !$0.isGap }?.uri)
        let response = try await EdgePair.get("\(signed)/\(file)", from: edge)
        let own = try await EdgePair.get("\(signed)/\(file)", from: origin)
        #expect(response.status == 200 && response.body.readableBytes > 0 && response.body == own.body)
        // A stream for HLS is not pulled.
        #expect(await edge.platform.streams().isEmpty)
        // A viewer in real time at the edge can seek in the window of the origin.
        let viewing = try await edge.post("/whep/\(stream)", try Offers.viewer())
        let links = viewing.headers[canonicalForm: "Link"].map { String($0) }
        let hasWindow = links.contains { $0.hasPrefix("</video/\(stream)/") && $0.contains("time-shift") }
        #expect(viewing.status == 201 && hasWindow, "\(links)")
    }

    /// Returns the names of the media playlists of a multivariant playlist.
    private static func renditions(at index: String, _ platform: TestPlatform) async throws -> [Substring] {
        try MultivariantPlaylist(try await EdgePair.text(index, from: platform)).variants
            .compactMap { $0.uri.split(separator: "/").last }
    }

    @Test("an edge of an edge serves the bytes of the origin, and each node requests them once")
    func chain() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { near in
                try await EdgePair.edge(of: [near]) { far in
                    let signed = try await EdgePair.signedPath(far)
                    let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: origin))
                    let file = try #require(EdgePair.files(playlist).first)
                    let own = try await EdgePair.get("\(signed)/\(file)", from: origin)
                    let (nearVideo, farVideo) = (try EdgePair.video(of: near), try EdgePair.video(of: far))
                    let before = (nearVideo.counts.fetches, farVideo.counts.fetches)
                    for _ in 0..<3 {
                        #expect(try await EdgePair.get("\(signed)/\(file)", from: far).body == own.body)
                    }
                    #expect(nearVideo.counts.fetches - before.0 == 1 && farVideo.counts.fetches - before.1 == 1)
                    let nodes = farVideo.state.withLock { $0.streams[PackagedRun.id]?.path }
                    #expect(nodes?.count == 2 && nodes?.first == nearVideo.node)
                }
            }
        }
    }

    @Test("a chain beyond the maximum depth is refused")
    func depth() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await Self.edges(EdgeConfiguration.maximumDepth, of: origin) { edges in
                for edge in edges.dropLast() {
                    #expect(try await edge.send("GET", Self.index).status == 200)
                }
                let tooDeep = try #require(edges.last)
                #expect(try await tooDeep.send("GET", Self.index).status != 200)
            }
        }
    }

    /// Runs edges, each of which has the one before as its origin.
    private static func edges(
        _ count: Int, of origin: TestPlatform, before: [TestPlatform] = [],
        _ body: ([TestPlatform]) async throws -> Void
    ) async throws {
        guard count > 0 else { return try await body(before) }
        try await EdgePair.edge(of: [origin]) { edge in
            try await edges(count - 1, of: edge, before: before + [edge], body)
        }
    }

    @Test("two platforms that are origins of each other ask their next origin, and an unknown stream is no circle")
    func circle() async throws {
        let run = try EdgePair.live()
        let known = [ChangingOrigins(), ChangingOrigins()]
        try await EdgePair.origin(run) { origin in
            try await Self.edge(known[0]) { first in
                try await Self.edge(known[1]) { second in
                    known[0].known.withLock { $0 = [StreamOrigin(uri: second.uri), StreamOrigin(uri: origin.uri)] }
                    known[1].known.withLock { $0 = [StreamOrigin(uri: first.uri), StreamOrigin(uri: origin.uri)] }
                    async let atFirst = first.send("GET", Self.index)
                    async let atSecond = second.send("GET", Self.index)
                    let statuses = try await [atFirst.status, atSecond.status]
                    #expect(statuses == [200, 200])
                    for platform in [first, second] {
                        let status = try await platform.send("GET", "/video/unknown/index.m3u8").status
                        #expect(status == 404 || status == 409, "\(status)")
                    }
                }
            }
        }
    }

    /// Requests the signed path of the stream as another edge does, which has lost nodes of its own path. Returns the nodes of
    /// the path; nil if the platform does not know one.
    private static func path(at platform: TestPlatform, lost: [String]) async throws -> [String]? {
        let signer = try #require(NodeSignature(secret: EdgePair.secret))
        let message = NodePlaylistRequest(
            application: nil, stream: "\(PackagedRun.id)", hops: ["node-of-the-test"], viewers: 0, lost: lost)
        let envelope = NodeEnvelope(message, .playlist, nonce: RandomIdentifier.make(), by: signer)
        let answer = try await platform.send(
            "POST", NodeRoutes.playlists, ["Content-Type": "application/json"],
            body: String(decoding: envelope.bytes, as: UTF8.self))
        guard answer.status == 200 else { return nil }
        return try NodeEnvelope(Array(answer.body.utf8))?.message(NodePlaylist.self, .path, by: signer).path
    }

    @Test("an edge is no origin for another one that has lost the origin of both, unless it reaches that one itself")
    func lostByBoth() async throws {
        let run = try EdgePair.live()
        let known = ChangingOrigins()
        try await Self.edge(known) { edge in
            var lost: [String] = []
            try await EdgePair.origin(run) { origin in
                known.known.withLock { $0 = [StreamOrigin(uri: origin.uri)] }
                #expect(try await edge.send("GET", Self.index).status == 200)
                let path = try #require(try await Self.path(at: edge, lost: []))
                #expect(path.count == 2)
                lost = Array(path.dropFirst())
                #expect(try await Self.path(at: edge, lost: lost) == path)
            }
            #expect(try await Self.path(at: edge, lost: lost) == nil)
        }
    }

    @Test("an edge requests a stream from the origin with the highest epoch")
    func moved() async throws {
        let (one, other) = (try EdgePair.live(), try EdgePair.live())
        let origins = ChangingOrigins()
        try await EdgePair.origin(one) { first in
            try await EdgePair.origin(other) { second in
                try await Self.edge(origins) { edge in
                    #expect(try await edge.send("GET", Self.index).status == 404)
                    origins.known.withLock { $0 = [StreamOrigin(uri: first.uri, epoch: 1)] }
                    // That no node has the stream is remembered for a moment.
                    #expect(try await eventually { try await edge.send("GET", Self.index).status == 200 })
                    #expect(try await EdgePair.signedPath(edge) == EdgePair.signedPath(first))
                    origins.known.withLock {
                        $0 = [StreamOrigin(uri: first.uri, epoch: 1), StreamOrigin(uri: second.uri, epoch: 2)]
                    }
                    let hasMoved = try await eventually {
                        try await EdgePair.signedPath(edge) == EdgePair.signedPath(second)
                    }
                    #expect(hasMoved)
                }
            }
        }
    }

    @Test("an origin that has failed is an error that players retry, and another origin takes its place")
    func failed() async throws {
        let (one, other) = (try EdgePair.live(), try EdgePair.live())
        let origins = ChangingOrigins()
        try await EdgePair.origin(other) { second in
            try await Self.edge(origins) { edge in
                var signed = ""
                var dead = ""
                try await EdgePair.origin(one) { first in
                    dead = first.uri
                    origins.known.withLock { $0 = [StreamOrigin(uri: first.uri, epoch: 1)] }
                    signed = try await EdgePair.signedPath(edge)
                    #expect(try await edge.send("GET", "\(signed)/video0.m3u8").status == 200)
                }
                let isUnavailable = try await eventually {
                    let response = try await edge.send("GET", "\(signed)/video0.m3u8")
                    guard response.status != 200 else { return false }
                    #expect(response.status == 503 && response.header("Retry-After") == "1")
                    return true
                }
                #expect(isUnavailable)
                origins.known.withLock {
                    $0 = [StreamOrigin(uri: dead, epoch: 1), StreamOrigin(uri: second.uri, epoch: 2)]
                }
                let continues = try await eventually {
                    let response = try await edge.send("GET", Self.index)
                    guard response.status == 200 else { return false }
                    return try await EdgePair.signedPath(edge) == EdgePair.signedPath(second)
                }
                #expect(continues)
                let playlist = try await EdgePair.signedPath(edge) + "/video0.m3u8"
                #expect(try await edge.send("GET", playlist).status == 200)
                // The signatures of the former origin are not those of this one.
                let former = try await edge.send("GET", "\(signed)/video0.m3u8")
                #expect(former.status == 404)
            }
        }
    }

    @Test("a stream that no directory has any more, and whose node is gone, is unknown")
    func gone() async throws {
        let run = try EdgePair.live()
        let origins = ChangingOrigins()
        try await Self.edge(origins) { edge in
            var signed = ""
            try await EdgePair.origin(run) { origin in
                origins.known.withLock { $0 = [StreamOrigin(uri: origin.uri, epoch: 1)] }
                signed = try await EdgePair.signedPath(edge)
            }
            origins.known.withLock { $0 = [] }
            let isUnknown = try await eventually {
                try await edge.send("GET", "\(signed)/video0.m3u8").status == 404
            }
            #expect(isUnknown)
            #expect(try await eventually { try EdgePair.video(of: edge).load.streams == 0 })
        }
    }
}

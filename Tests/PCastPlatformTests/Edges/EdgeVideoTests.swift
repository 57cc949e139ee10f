import Foundation
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastPackaging
import PCastSignaling
import PCastWeb
import Synchronization
import Testing

@testable import PCastPlatform

/// HLS at a platform that is an edge of another one. The tests feed the packager of the origin themselves.
@Suite("HLS at edges", .timeLimit(.minutes(10))) struct EdgeVideoTests {
    private static let path = "/video/\(PackagedRun.id)"

    // MARK: Content

    @Test("an edge serves the same bytes as the origin, and requests each file once")
    func same() async throws {
        let run = try EdgePair.live(layers: 2)
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let index = try await EdgePair.text("\(Self.path)/index.m3u8?audio=opus", from: edge)
                #expect(try await EdgePair.text("\(Self.path)/index.m3u8?audio=opus", from: origin) == index)
                let signed = try await EdgePair.signedPath(edge)
                #expect(try await EdgePair.signedPath(origin) == signed)
                var files: [String] = []
                for name in ["index.m3u8?audio=opus", "opus.m3u8", "video0.m3u8", "video1.m3u8"] {
                    let response = try await EdgePair.get("\(signed)/\(name)", from: edge, acceptsGzip: true)
                    let own = try await EdgePair.get("\(signed)/\(name)", from: origin, acceptsGzip: true)
                    #expect(response.status == 200 && response.isGzip && response.body == own.body, "\(name)")
                    let plain = try await EdgePair.text("\(signed)/\(name)", from: edge)
                    #expect(try await EdgePair.text("\(signed)/\(name)", from: origin) == plain, "\(name)")
                    guard !name.hasPrefix("index") else { continue }
                    files += EdgePair.files(try MediaPlaylist(plain))
                }
                #expect(files.count > 20)
                let video = try EdgePair.video(of: edge)
                let before = video.counts
                for _ in 0..<2 {
                    for file in files {
                        let response = try await EdgePair.get("\(signed)/\(file)", from: edge)
                        let own = try await EdgePair.get("\(signed)/\(file)", from: origin)
                        #expect(response.status == 200 && response.body.readableBytes > 0, "\(file)")
                        #expect(response.body == own.body, "\(file)")
                    }
                }
                #expect(video.counts.fetches - before.fetches == files.count)
                #expect(video.counts.requests - before.requests == 2 * files.count)
                #expect(video.load.bytes <= video.configuration.cacheSize)
            }
        }
    }

    @Test("the responses of an edge have the status and the header fields of the origin's")
    func fields() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: origin))
                let file = try #require(playlist.segments.first?.uri)
                let names = [
                    "Content-Type", "Content-Length", "Content-Range", "Cache-Control", "Vary", "Accept-Ranges",
                    "X-Content-Type-Options", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
                ]
                let requests: [(method: String, path: String, headers: [String: String], status: Int)] = [
                    ("GET", "\(Self.path)/index.m3u8?audio=opus", [:], 200),
                    ("GET", "\(signed)/index.m3u8?audio=opus", [:], 200), ("GET", "\(signed)/video0.m3u8", [:], 200),
                    ("GET", "\(signed)/video0.m3u8?_HLS_msn=1&_HLS_skip=YES", [:], 200),
                    ("HEAD", "\(signed)/\(file)", [:], 200),
                    ("HEAD", "\(signed)/video0.m3u8", ["Accept-Encoding": "identity"], 200),
                    ("GET", "\(signed)/\(file)", ["Range": "bytes=10-99"], 206),
                    ("GET", "\(signed)/\(file)", ["Range": "bytes=999999999-"], 416),
                    ("GET", "\(signed)/video0.m3u8?_HLS_part=1", [:], 400),
                    ("GET", "\(signed)/video0.m3u8?_HLS_msn=99", [:], 400),
                    ("GET", "\(signed)/video7.m3u8", [:], 404), ("GET", "\(signed)/video0/i1-99.m4s", [:], 404),
                    ("GET", "\(signed)/video0/..%2Fopus.m3u8", [:], 404), ("GET", "\(signed)/video0", [:], 404),
                    ("GET", "\(signed)/thumbnail.jpg", [:], 404), ("GET", "\(Self.path)/thumbnail.jpg", [:], 404),
                    ("GET", "\(signed)/index.m3u8?audio=ac-3", [:], 400), ("POST", "\(signed)/video0.m3u8", [:], 405),
                ]
                for (method, path, headers, status) in requests {
                    let response = try await edge.send(method, path, headers)
                    let own = try await origin.send(method, path, headers)
                    #expect(response.status == status && own.status == status, "\(method) \(path): \(own.status)")
                    // The texts of errors may differ.
                    for name in names where status < 400 || name != "Content-Length" {
                        #expect(response.header(name) == own.header(name), "\(method) \(path): \(name)")
                    }
                }
            }
        }
    }

    @Test("50 viewers who wait for a part at an edge are one request to the origin, which counts all of them")
    func coalescing() async throws {
        var run = try EdgePair.live()
        let stream = run.stream
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: edge))
                let query = EdgePair.nextPart(playlist)
                let video = try EdgePair.video(of: edge)
                let before = video.counts
                let bodies = try await withThrowingTaskGroup(of: UpstreamRequests.Response.self) { group in
                    for number in 0..<50 {
                        // Other parameters have no meaning, and half of the viewers accept gzip.
                        let path = "\(signed)/video0.m3u8?\(query)&viewer=\(number)"
                        group.addTask { try await EdgePair.get(path, from: edge, acceptsGzip: number % 2 == 0) }
                    }
                    let isWaiting = try await eventually {
                        video.counts.requests - before.requests == 50 && stream.waitingCount == 1
                    }
                    #expect(isWaiting)
                    #expect(try await eventually { video.load.viewers == 50 })
                    #expect(video.load.fetches == 1)
                    // The edge reports its viewers when it renews the signatures.
                    let isReported = try await eventually {
                        // A renewal that began before the last viewers reports fewer.
                        _ = try await video.renew(PackagedRun.id)
                        return stream.viewerCount == 50
                    }
                    #expect(isReported)
                    try run.send(25)
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(bodies.count == 50 && bodies.allSatisfy { $0.status == 200 })
                #expect(bodies.count(where: \.isGzip) == 25)
                #expect(Set(bodies.filter { !$0.isGzip }.map { String(buffer: $0.body) }).count == 1)
                let plain = String(buffer: try #require(bodies.first { !$0.isGzip }).body)
                #expect(EdgePair.nextPart(try MediaPlaylist(plain)) != query)
                #expect(video.counts.fetches - before.fetches == 1)
                #expect(try await eventually { video.load.viewers == 0 })
            }
        }
    }

    @Test("a part that does not exist yet is requested once, and sent to all viewers when it does")
    func hintedPart() async throws {
        var run = try EdgePair.live()
        let stream = run.stream
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: edge))
                let hint = try #require(playlist.preloadHints.first { $0.kind == .part }?.uri)
                let video = try EdgePair.video(of: edge)
                let before = video.counts
                async let first = EdgePair.get("\(signed)/\(hint)", from: edge)
                async let second = EdgePair.get("\(signed)/\(hint)", from: edge)
                let isWaiting = try await eventually {
                    video.counts.requests - before.requests == 2 && stream.waitingCount == 1
                }
                #expect(isWaiting)
                try run.send(25)
                let parts = try await [first, second]
                let own = try await EdgePair.get("\(signed)/\(hint)", from: origin)
                #expect(own.status == 200 && parts.allSatisfy { $0.status == 200 && $0.body == own.body })
                #expect(video.counts.fetches - before.fetches == 1)
            }
        }
    }

    @Test("the end of a stream at the origin is the end of its playlists at the edge")
    func end() async throws {
        let run = try EdgePair.live()
        let stream = run.stream
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: edge))
                #expect(!playlist.isComplete)
                async let waiting = EdgePair.text("\(signed)/video0.m3u8?\(EdgePair.nextPart(playlist))", from: edge)
                #expect(try await eventually { stream.waitingCount == 1 })
                stream.finish(at: MonotonicClock.now())
                #expect(try await waiting.contains("#EXT-X-ENDLIST"))
                let hasEnd = try await eventually {
                    try await EdgePair.text("\(signed)/opus.m3u8", from: edge).contains("#EXT-X-ENDLIST")
                }
                #expect(hasEnd)
            }
        }
    }

    @Test("a platform that stops does not wait for its requests to other nodes")
    func stop() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video0.m3u8", from: edge))
                let next = "\(signed)/video0.m3u8?\(EdgePair.nextPart(playlist))"
                let video = try EdgePair.video(of: edge)
                async let waiting = edge.send("GET", next)
                #expect(try await eventually { run.stream.waitingCount == 1 })
                video.stop()
                #expect(try await waiting.status == 503)
                #expect(try await edge.send("GET", next).status == 503)
                #expect(try await eventually { video.load.fetches == 0 })
            }
        }
    }

    @Test("a cache that is smaller than the stream stays within its size, and all files are served")
    func bound() async throws {
        let run = try EdgePair.live(layers: 2)
        let size = 64 << 10
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin], configure: { $0.edges.cacheSize = size }) { edge in
                let signed = try await EdgePair.signedPath(edge)
                let video = try EdgePair.video(of: edge)
                let playlist = try MediaPlaylist(try await EdgePair.text("\(signed)/video1.m3u8", from: origin))
                var total = 0
                for file in EdgePair.files(playlist) {
                    let own = try await EdgePair.get("\(signed)/\(file)", from: origin)
                    guard own.body.readableBytes < size else { continue }
                    let response = try await EdgePair.get("\(signed)/\(file)", from: edge)
                    #expect(response.status == 200 && response.body == own.body, "\(file)")
                    #expect(video.load.bytes <= size)
                    total += own.body.readableBytes
                }
                #expect(total > 2 * size)
            }
        }
    }

    @Test("the image of a stream at an edge is that of the origin")
    func thumbnail() async throws {
        let run = try EdgePair.live()
        let program = ThumbnailConfiguration(program: "/bin/cat", arguments: [])
        try await EdgePair.origin(run, configure: { $0.hls.thumbnails = program }) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let image = try await EdgePair.get("\(Self.path)/thumbnail.jpg", from: edge)
                #expect(image.status == 200)
                #expect(Array(buffer: image.body) == run.stream.lastKeyFrame)
                let token = try Tokens.make { $0.forStreamingOnly().forOriginStream("another") }
                let refused = try await edge.send(
                    "GET", "\(Self.path)/thumbnail.jpg", ["Authorization": "Bearer \(token)"])
                #expect(refused.status == 401)
            }
        }
    }

    // MARK: Access

    @Test("a token for another stream, and a wrong or expired signature, are refused at the edge")
    func access() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                let index = "\(Self.path)/index.m3u8?audio=opus"
                let other = try Tokens.make { $0.forStreamingOnly().forOriginStream("another") }
                #expect(try await edge.send("GET", index, ["Authorization": "Bearer \(other)"]).status == 401)
                let foreign = try Tokens.make(TestPlatform.otherApplication) { $0.forStreamingOnly() }
                #expect(try await edge.send("GET", index, ["Authorization": "Bearer \(foreign)"]).status == 404)
                let right = try Tokens.make { $0.forStreamingOnly().forOriginStream(PackagedRun.id.description) }
                #expect(try await edge.send("GET", index, ["Authorization": "Bearer \(right)"]).status == 200)
                #expect(try await edge.send("GET", "/video/unknown/index.m3u8").status == 404)
                let wrong = "1-" + String(repeating: "0", count: 64)
                #expect(try await edge.send("GET", "/video/unknown/\(wrong)/opus.m3u8").status == 404)
                let now = MonotonicClock.wallTime()
                let expired = run.stream.signature(at: now - PathSigner.window * 3)
                #expect(try await edge.send("GET", "\(Self.path)/\(expired)/opus.m3u8").status == 401)
                let valid = run.stream.signature(at: now - PathSigner.window)
                #expect(try await edge.send("GET", "\(Self.path)/\(valid)/opus.m3u8").status == 200)
                // The origin may sign with the next window before the edge knows.
                let next = run.stream.signature(at: now + PathSigner.window)
                #expect(try await edge.send("GET", "\(Self.path)/\(next)/opus.m3u8").status == 503)
                let altered = String(valid.dropLast()) + (valid.last == "0" ? "1" : "0")
                for file in ["opus.m3u8", "index.m3u8", "opus/i1-1.0.m4s"] {
                    #expect(try await edge.send("GET", "\(Self.path)/\(altered)/\(file)").status == 404, "\(file)")
                }
                run.stream.revokeAccess()
                let isRevoked = try await eventually {
                    _ = try? await EdgePair.video(of: edge).renew(PackagedRun.id)
                    return try await edge.send("GET", "\(Self.path)/\(valid)/opus.m3u8").status == 404
                }
                #expect(isRevoked)
            }
        }
    }

    @Test("a signed path is valid at an edge that has not served its multivariant playlist")
    func unprepared() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            let signed = try await EdgePair.signedPath(origin)
            try await EdgePair.edge(of: [origin]) { edge in
                let own = try await EdgePair.text("\(signed)/video0.m3u8", from: origin)
                #expect(try await EdgePair.text("\(signed)/video0.m3u8", from: edge) == own)
            }
        }
    }

    @Test("while a publication that has ended still has playlists, those of another node's publication are served, too")
    func ended() async throws {
        let (former, run) = (try EdgePair.live(), try EdgePair.live())
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                try await EdgePair.publish(former, at: edge) {
                    let playlist = try await EdgePair.signedPath(origin) + "/video0.m3u8"
                    #expect(try await edge.send("GET", playlist).status == 404)
                    former.stream.finish(at: MonotonicClock.now())
                    #expect(try await EdgePair.text(playlist, from: edge) == EdgePair.text(playlist, from: origin))
                    let signature = former.stream.signature(at: MonotonicClock.wallTime())
                    let own = try await EdgePair.text("\(Self.path)/\(signature)/video0.m3u8", from: edge)
                    #expect(own.contains("#EXT-X-ENDLIST"))
                }
            }
        }
    }

    @Test("clients without a token cannot cause any number of searches for unknown streams")
    func guesses() async throws {
        try await EdgePair.edge(of: []) { edge in
            let video = try EdgePair.video(of: edge)
            let wrong = "1-" + String(repeating: "0", count: 64)
            var kinds: [APIError.Kind] = []
            // Without origins, a search takes no time.
            for number in 0..<2_000 {
                do throws(APIError) {
                    _ = try await video.check(wrong, of: StreamID("unknown-\(number)"))
                } catch {
                    kinds.append(error.kind)
                }
            }
            #expect(kinds.count == 2_000 && kinds.first == .noStreamPlaying && kinds.contains(.capacity))
        }
    }

    @Test("a client whose token requires a playlist receives the address of the edge")
    func playlistOfProtocol() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            try await EdgePair.edge(of: [origin]) { edge in
                try await ProtocolClient.run(edge) { client in
                    let session = try #require(try await client.authenticate())
                    let token = try Tokens.make {
                        $0.forStreamingOnly().forOriginStream(PackagedRun.id.description).withCapability("streaming")
                    }
                    let request = try Requests.view(token, session: session)
                    guard case .setupStream(let response)? = try await client.response(request) else {
                        Issue.record("there is no response")
                        return
                    }
                    #expect(response.status == "ok")
                    let text = response.createStreamResponse.createAnswerDescriptionResponse.sessionDescription.sdp
                    let mark = "a=x-playlist:\(edge.uri)"
                    let line = try #require(text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(mark) })
                    let playlist = try await EdgePair.text("\(line.dropFirst(mark.count))?audio=opus", from: edge)
                    #expect(try MultivariantPlaylist(playlist).variants.contains { $0.uri == "video0.m3u8" })
                    // A playlist does not follow the presenters that a client selects.
                    let awaiting = try Requests.view(token, session: session, options: ["await-presenter=most-recent"])
                    guard case .setupStream(let refusal)? = try await client.response(awaiting) else {
                        Issue.record("there is no response")
                        return
                    }
                    #expect(refusal.status == "unsupported-features")
                }
            }
        }
    }

    @Test("a message that was recorded, or is signed with another secret or for another purpose, is refused")
    func messages() async throws {
        let run = try EdgePair.live()
        try await EdgePair.origin(run) { origin in
            func message(
                _ purpose: String, nonce: String, hops: String = #"["node-of-the-test"]"#,
                secret: String = EdgePair.secret
            ) throws -> String {
                let signer = try #require(NodeSignature(secret: secret))
                let payload = #"{"stream":"\#(PackagedRun.id)","hops":\#(hops),"viewers":0}"#
                let signature = signer.sign(payload, purpose: purpose, nonce: nonce)
                let envelope = ["nonce": nonce, "payload": payload, "signature": signature]
                return String(decoding: try JSONEncoder().encode(envelope), as: UTF8.self)
            }
            func status(_ message: String, _ path: String = "/pcast/node/playlists") async throws -> Int {
                try await origin.send("POST", path, body: message).status
            }
            let first = try message("playlist", nonce: "first nonce of a test")
            #expect(try await status(first) == 200)
            #expect(try await status(first) == 409)
            #expect(try await status(try message("request", nonce: "second nonce of a test")) == 401)
            #expect(
                try await status(try message("playlist", nonce: "third nonce of a test"), "/pcast/node/thumbnails")
                    == 401)
            let foreign = try message("playlist", nonce: "fourth nonce of a test", secret: "another secret of nodes")
            #expect(try await status(foreign) == 401)
            #expect(try await status(try message("playlist", nonce: "fifth nonce of a test", hops: "[]")) == 400)
            #expect(try await status("{}") == 400)
            #expect(try await origin.send("GET", "/pcast/node/playlists").status == 405)
        }
    }
}

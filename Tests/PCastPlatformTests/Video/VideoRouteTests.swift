import NIOCore
import NIOHTTP1
import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastIO
import PCastSFU
import PCastSignaling
import Testing

@testable import PCastPlatform

/// The endpoints of HLS.
@Suite("HLS endpoints") struct VideoRouteTests {
    /// Returns a run with one layer and 7 s of media.
    private static func live() throws -> PackagedRun {
        var run = try PackagedRun(layers: 1)
        try run.send(350)
        return run
    }

    @Test("a viewer with a token loads the multivariant playlist, and everything below it without a token")
    func playback() async throws {
        var run = try Self.live()
        let stream = run.stream
        try await VideoServer.run(run) { server in
            let token = try VideoServer.token()
            async let answer = server.send("\(server.path)/index.m3u8", ["Authorization": "Bearer \(token)"])
            // It waits for the first part of AAC.
            #expect(try await eventually { stream.waitingCount == 1 })
            try run.send(20)
            let index = try await answer
            #expect(index.status == 200)
            #expect(index.header("Content-Type") == "application/vnd.apple.mpegurl")
            #expect(index.header("Cache-Control") == "no-store")
            #expect(index.header("Access-Control-Allow-Origin") == "*")
            let list = try MultivariantPlaylist(index.text)
            let uris = Set(list.variants.map(\.uri) + list.renditions.compactMap(\.uri))
            #expect(uris.count == 2)
            var media: [String: MediaPlaylist] = [:]
            for uri in uris {
                let response = try await server.send("\(server.path)/\(uri)")
                #expect(response.status == 200 && response.header("Cache-Control") == "no-cache", "\(uri)")
                #expect(response.header("Vary") == "Accept-Encoding")
                let playlist = try MediaPlaylist(response.text)
                media[uri] = playlist
                #expect(MediaPlaylistRules.check(text: response.text) == [], "\(uri)")
                let folder = "\(server.path)/\(uri.split(separator: "/")[0])"
                let files = playlist.segments.prefix(1).compactMap(\.initialization?.uri)
                for file in files + playlist.segments.compactMap(\.uri) + (playlist.openSegment?.parts.map(\.uri) ?? [])
                {
                    let response = try await server.send("\(folder)/\(file)")
                    #expect(response.status == 200 && response.body.readableBytes > 100, "\(file)")
                    #expect(response.header("Cache-Control") == "public, max-age=31536000, immutable")
                    #expect(response.header("Content-Type") == (file.hasPrefix("video") ? "video/mp4" : "audio/mp4"))
                }
            }
            #expect(PresentationRules.check(list, media: [:]) == [])
            // The same list is below the signature, for clients that receive its address from the platform.
            let signed = try await server.send("\(server.signedPath)/index.m3u8")
            #expect(try MultivariantPlaylist(signed.text).variants.map(\.uri).contains("video0.m3u8"))
            let opus = try await server.send("\(server.signedPath)/index.m3u8?audio=opus")
            #expect(try MultivariantPlaylist(opus.text).variants.map(\.audio) == ["opus", "opus"])
            #expect(try await server.send("\(server.signedPath)/index.m3u8?audio=ac-3").status == 400)
        }
    }

    @Test("a blocked reload is answered when its part exists, and may be cached for a second")
    func blockedReload() async throws {
        var run = try Self.live()
        let stream = run.stream
        try await VideoServer.run(run) { server in
            let path = "\(server.signedPath)/opus.m3u8"
            let before = try MediaPlaylist(try await server.send(path).text)
            let parts = try #require(before.openSegment?.parts.count)
            let query = "?_HLS_msn=\(before.nextNumber)&_HLS_part=\(parts)"
            async let answer = server.send(path + query)
            #expect(try await eventually { stream.waitingCount == 1 })
            // A part has ten packets.
            try run.send(10)
            let response = try await answer
            #expect(response.status == 200 && response.header("Cache-Control") == "public, max-age=1")
            #expect(try MediaPlaylist(response.text).openSegment?.parts.count == parts + 1)
            for wrong in ["?_HLS_part=1", "?_HLS_msn=x", "?_HLS_msn=\(before.nextNumber + 9)"] {
                let response = try await server.send(path + wrong)
                #expect(response.status == 400 && response.header("Cache-Control") == "no-store", "\(wrong)")
            }
        }
    }

    @Test("playlists are sent with gzip to clients that accept it")
    func gzip() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let path = "\(server.signedPath)/video0.m3u8"
            let plain = try await server.send(path)
            #expect(plain.header("Content-Encoding") == nil)
            for value in ["gzip", "br, gzip;q=0.5", "*"] {
                let coded = try await server.send(path, ["Accept-Encoding": value])
                #expect(coded.header("Content-Encoding") == "gzip", "\(value)")
                #expect(coded.body.readableBytes < plain.body.readableBytes)
                #expect(coded.body.getBytes(at: 0, length: 2) == [0x1F, 0x8B])
            }
            for value in ["br", "gzip;q=0", "identity"] {
                #expect(try await server.send(path, ["Accept-Encoding": value]).text == plain.text, "\(value)")
            }
        }
    }

    @Test("the routes respond as the handler before them does", arguments: [["Accept-Encoding": "gzip"], [:]])
    func direct(headers: [String: String]) async throws {
        let run = try Self.live()
        let requests: [(name: String, more: [String: String], method: String)] = [
            ("opus.m3u8", [:], "GET"), ("video0.m3u8?_HLS_msn=1&_HLS_skip=YES", [:], "GET"),
            ("video0/i1-0.m4s", [:], "GET"), ("opus/i1-1.0.m4s", [:], "GET"), ("video0/i1-init0.mp4", [:], "GET"),
            ("video0/i1-0.m4s", ["Range": "bytes=10-99"], "GET"), ("video0/i1-0.m4s", ["Range": "bytes=-5"], "HEAD"),
            ("video0/i1-0.m4s", ["Range": "bytes=999999999-"], "GET"), ("video0.m3u8", [:], "HEAD"),
            ("video0.m3u8?_HLS_part=1", [:], "GET"), ("video0.m3u8?_HLS_msn=99", [:], "GET"),
            ("video7.m3u8", [:], "GET"), ("video0/i1-99.m4s", [:], "GET"),
        ]
        var responses: [[VideoServer.Response]] = []
        for (isDirect, isSecure) in [(true, false), (false, false), (true, true)] {
            try await VideoServer.run(run, isDirect: isDirect, isSecure: isSecure) { server in
                var own: [VideoServer.Response] = []
                for (name, more, method) in requests {
                    let all = headers.merging(more) { $1 }
                    own.append(try await server.send("\(server.signedPath)/\(name)", all, method: method))
                }
                responses.append(own)
            }
        }
        #expect(responses[0].map(\.status) == [200, 200, 200, 200, 200, 206, 206, 416, 200, 400, 400, 404, 404])
        for (index, routed) in responses[1].enumerated() {
            for direct in [responses[0][index], responses[2][index]] {
                #expect(direct.status == routed.status && direct.body == routed.body, "\(requests[index])")
                for name in [
                    "Content-Type", "Content-Length", "Content-Range", "Content-Encoding", "Cache-Control", "Vary",
                    "Accept-Ranges", "X-Content-Type-Options", "Access-Control-Allow-Origin",
                    "Access-Control-Expose-Headers", "Retry-After",
                ] {
                    #expect(direct.header(name) == routed.header(name), "\(requests[index]): \(name)")
                }
                #expect(direct.header("Date") != nil)
            }
        }
    }

    @Test("playlists, files and requests that wait are served by HTTP/2 over TLS", arguments: [true, false])
    func http2(isDirect: Bool) async throws {
        var run = try Self.live()
        let stream = run.stream
        try await VideoServer.run(run, isDirect: isDirect, isSecure: true) { server in
            let index = try await server.send(
                "\(server.path)/index.m3u8", ["Authorization": "Bearer \(try VideoServer.token())"])
            #expect(index.version == .http2 && index.status == 200)
            for name in ["opus.m3u8", "video0.m3u8", "video0/i1-0.m4s", "opus/i1-1.0.m4s"] {
                let response = try await server.send("\(server.signedPath)/\(name)")
                #expect(response.version == .http2 && response.status == 200, "\(name)")
                #expect(response.header("Content-Length") == "\(response.body.readableBytes)", "\(name)")
            }
            // Two requests wait on one connection, and others are answered meanwhile.
            let playlist = try MediaPlaylist(try await server.send("\(server.signedPath)/opus.m3u8").text)
            let query = "_HLS_msn=\(playlist.nextNumber)&_HLS_part=\(playlist.openSegment?.parts.count ?? 0)"
            async let first = server.send("\(server.signedPath)/opus.m3u8?\(query)")
            async let second = server.send("\(server.signedPath)/opus.m3u8?\(query)&x=1")
            #expect(try await eventually { stream.waitingCount == 2 })
            #expect(try await server.send("\(server.signedPath)/video0.m3u8").status == 200)
            try run.send(12)
            let statuses = try await [first.status, second.status]
            #expect(statuses == [200, 200])
            #expect(try await server.send("\(server.path)/index.m3u8").status == 401)
            let head = try await server.send("\(server.signedPath)/video0/i1-0.m4s", method: "HEAD")
            #expect(head.status == 200 && head.body.readableBytes == 0)
        }
    }

    @Test("a range of a file is sent, and one beyond its end is 416")
    func ranges() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let path = "\(server.signedPath)/video0/i1-0.m4s"
            let whole = try await server.send(path)
            let size = whole.body.readableBytes
            for (value, range) in [
                ("bytes=0-99", 0..<100), ("bytes=100-", 100..<size), ("bytes=-50", size - 50..<size),
                ("bytes=10-99999999", 10..<size),
            ] {
                let part = try await server.send(path, ["Range": value])
                let expected = whole.body.getSlice(at: range.lowerBound, length: range.count)
                #expect(part.status == 206 && part.body == expected, "\(value)")
                #expect(part.header("Content-Range") == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
            }
            let beyond = try await server.send(path, ["Range": "bytes=\(size)-"])
            #expect(beyond.status == 416 && beyond.header("Content-Range") == "bytes */\(size)")
            for value in ["bytes=5-4", "bytes=0-1,4-5", "lines=1-2", "bytes=x-", "bytes=-"] {
                let ignored = try await server.send(path, ["Range": value])
                #expect(ignored.status == 200 && ignored.body == whole.body, "\(value)")
            }
            let head = try await server.send(path, method: "HEAD")
            #expect(head.status == 200 && head.body.readableBytes == 0)
        }
    }

    @Test("captions are WebVTT")
    func captions() async throws {
        var run = try Self.live()
        run.stream.add([CaptionCue(text: "now", captureTime: run.wallTime, duration: .seconds(1))])
        try run.send(150)
        try await VideoServer.run(run) { server in
            let playlist = try MediaPlaylist(try await server.send("\(server.signedPath)/captions.m3u8").text)
            var texts = ""
            for uri in playlist.segments.compactMap(\.uri) {
                let file = try await server.send("\(server.signedPath)/\(uri)")
                #expect(file.status == 200 && file.header("Content-Type") == "text/vtt; charset=utf-8")
                #expect(file.text.hasPrefix("WEBVTT\nX-TIMESTAMP-MAP="))
                texts += file.text
            }
            #expect(texts.contains("\nnow\n"))
        }
    }

    @Test("a missing or foreign token is 401, and a wrong signature or path is 404")
    func access() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let index = "\(server.path)/index.m3u8"
            #expect(try await server.send(index).status == 401)
            let foreign = try VideoServer.token(of: VideoServer.silent)
            #expect(try await server.send(index, ["Authorization": "Bearer \(foreign)"]).status == 401)
            let publishing = try Tokens.publishing()
            #expect(try await server.send(index, ["Authorization": "Bearer \(publishing)"]).status == 401)
            let now = MonotonicClock.wallTime()
            let signature = server.stream.signature(at: now)
            let old = server.stream.signature(at: now - .seconds(24 * 3_600 as Int64))
            let guess = signature.dropLast() + (signature.hasSuffix("0") ? "1" : "0")
            let paths: [(path: String, status: Int)] = [
                ("\(server.path)/\(guess)/video0.m3u8", 404), ("\(server.path)/x/video0.m3u8", 404),
                ("\(server.path)/\(old)/video0.m3u8", 401),
                ("/video/\(VideoServer.silent)/\(signature)/video0.m3u8", 404),
                ("/video/nothing/\(signature)/video0.m3u8", 404), ("\(server.signedPath)/video7.m3u8", 404),
                ("\(server.signedPath)/video0.txt", 404), ("\(server.signedPath)/video0/i2-0.m4s", 404),
                ("\(server.signedPath)/video0/i1-9999.m4s", 404), ("\(server.signedPath)/video0/..%2Fopus.m3u8", 404),
                ("\(server.signedPath)/video0/", 404), ("\(server.signedPath)/video0/i1-0.m4s/more", 404),
            ]
            for (path, status) in paths {
                #expect(try await server.send(path).status == status, "\(path)")
            }
            #expect(try await server.send("\(server.signedPath)/video0.m3u8", method: "POST").status == 405)
            let preflight = try await server.send(index, method: "OPTIONS")
            #expect(preflight.status == 204 && preflight.header("Access-Control-Allow-Origin") == "*")
        }
    }

    @Test("the name of a channel is an address of its presenter's stream, whose media have their own address")
    func channel() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let id = "local#first#demo.123456789012"
            func present(_ streams: [StreamID]) {
                server.directory.available.setChannel(
                    PresentedChannel(
                        application: TestPlatform.application.id, names: [id, "demo"],
                        tags: ["channelId:\(id)", "channelAlias:demo"], streams: streams))
            }
            let token = try Tokens.make { $0.forStreamingOnly().forChannelAlias("demo") }
            let index = "/video/demo/index.m3u8"
            let viewer = ["Authorization": "Bearer \(token)"]
            // Without a presenter, the name is that of no stream.
            present([])
            #expect(try await server.send(index, viewer).status == 404)
            // The first presenter's stream has ended. The next one is packaged.
            present([StreamID("stream-ended"), PackagedRun.id])
            for path in [index, "/video/local%23first%23demo.123456789012/index.m3u8"] {
                let response = try await server.send(path, viewer)
                #expect(response.status == 200, "\(path)")
                let uris = try MultivariantPlaylist(response.text).variants.map(\.uri)
                let uri = try #require(uris.first { $0.hasSuffix("/video0.m3u8") })
                #expect(uri.hasPrefix("../\(PackagedRun.id)/"), "\(uri)")
                let media = try await server.send("/video/\(uri.dropFirst(3))")
                #expect(media.status == 200)
                #expect(try MediaPlaylist(media.text).segments.isEmpty == false)
            }
            #expect(try await server.send(index).status == 401)
            let foreign = try Tokens.make { $0.forStreamingOnly().forChannelAlias("other") }
            #expect(try await server.send(index, ["Authorization": "Bearer \(foreign)"]).status == 401)
            // The stream has no tag of the channel, so the token permits it by the channel's name only.
            #expect(try await server.send("\(server.path)/index.m3u8", viewer).status == 401)
            // A presenter that is not packaged has no playlist.
            present([VideoServer.unpackaged])
            #expect(try await server.send(index, viewer).status == 404)
        }
    }

    @Test("after access was revoked, a viewer needs the multivariant playlist again")
    func revocation() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let before = server.signedPath
            let valid = try await server.send("\(before)/video0.m3u8")
            server.stream.revokeAccess()
            let revoked = try await server.send("\(before)/video0.m3u8")
            let renewed = try await server.send("\(server.signedPath)/video0.m3u8")
            #expect((valid.status, revoked.status, renewed.status) == (200, 404, 200))
        }
    }

    @Test("the session description for a viewer of a playlist has no media and the address", arguments: [true, false])
    func description(isOffer: Bool) {
        let uri = "https://media.example/video/stream-a/1-ab/index.m3u8"
        let response = PCastCreateStreamResponse(playlist: uri, isOffer: isOffer)
        let offer = response.createOfferDescriptionResponse.sessionDescription.sdp
        let answer = response.createAnswerDescriptionResponse.sessionDescription.sdp
        let description = isOffer ? offer : answer
        #expect(response.status == "ok" && response.streamID.hasPrefix("view-"))
        #expect(description.hasPrefix("v=0\r\no=- ") && description.hasSuffix("\r\na=x-playlist:\(uri)\r\n"))
        #expect(!description.contains("\r\nm=") && (isOffer ? answer : offer).isEmpty)
    }

    @Test("a stream that is not packaged is 404, and one without media is 503 with a time to retry")
    func unavailable() async throws {
        try await VideoServer.run(try Self.live()) { server in
            let expected: [(StreamID, Int, String?)] = [
                (VideoServer.silent, 503, "1"), (VideoServer.unpackaged, 404, nil),
            ]
            for (id, status, retry) in expected {
                let token = try VideoServer.token(of: id)
                let response = try await server.send(
                    "/video/\(id)/index.m3u8", ["Authorization": "Bearer \(token)"])
                #expect(response.status == status && response.header("Retry-After") == retry, "\(id)")
                #expect(response.header("Cache-Control") == "no-store")
            }
        }
    }

    @Test("H.264 is preferred if every stream is packaged, unless the token prefers another codec")
    func preferredCodec() async throws {
        let media = try VideoServer.mediaRouter()
        defer { media.stop() }
        for packagesEveryStream in [true, false] {
            var configuration = HLSConfiguration()
            configuration.packagesEveryStream = packagesEveryStream
            let directory = try await VideoServer.components(media, configuration).directory
            let plain = await directory.publishingOptions(try StreamCapabilities([], for: .publish))
            #expect(plain.preferring == (packagesEveryStream ? [.h264] : []))
            let other = await directory.publishingOptions(try StreamCapabilities(["prefer-vp8"], for: .publish))
            #expect(other.preferring == [.vp8])
        }
    }

    @Test("the protocol tells a viewer with the capability streaming that a stream is not packaged")
    func signaling() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish(token: try Tokens.publishing())
            let token = try Tokens.make {
                $0.forStreamingOnly().forOriginStream(stream).withCapability("streaming")
            }
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate(try Tokens.make())
                let response = try await client.response(try Requests.view(token, origin: stream))
                guard case .setupStream(let answer)? = response else {
                    Issue.record("there is no response")
                    return
                }
                #expect(answer.status == "streaming-not-available")
            }
        }
    }

    @Test("ranges are parsed as RFC 9110 says", arguments: [("bytes=0-0", 0..<1), ("bytes=9-20", 9..<10)])
    func range(value: String, bytes: Range<Int>) {
        #expect(RequestedRange(value, of: 10) == .bytes(bytes))
        #expect(RequestedRange(value, of: 0) == .unsatisfiable)
        #expect(RequestedRange("bytes=-0", of: 10) == .unsatisfiable)
        #expect(RequestedRange(nil, of: 10) == .all)
    }
}

/// The units on their way from a shard to the packagers.
@Suite("Published unit feed") struct PublishedUnitFeedTests {
    private static func unit(
        _ size: Int, of stream: String = "a", layer: Int? = 0, isKeyFrame: Bool = true, at timestamp: Int64 = 0
    ) -> PublishedUnit {
        PublishedUnit(
            stream: StreamID(stream), layer: layer, codec: layer == nil ? .opus : .h264,
            bytes: [UInt8](repeating: 0, count: size), isKeyFrame: isKeyFrame, timestamp: timestamp,
            captureTime: WallTime(millisecondsSinceEpoch: 1))
    }

    @Test("units are kept until one may complete a part, and not longer than their maximum delay")
    func coalescing() async throws {
        let feed = PublishedUnitFeed()
        let start = Instant(nanoseconds: 0)
        let late = start + PublishedUnitFeed.maximumDelay
        var batches = feed.batches.makeAsyncIterator()
        feed.setNext([.audio(0): 100, .video(layer: 0): 200], of: StreamID("a"))
        let audio = Self.unit(1, layer: nil, at: 99)
        let video = Self.unit(2, isKeyFrame: false, at: 199)
        // The last unit of each group passes on the ones before it.
        let groups: [[PublishedUnit]] = [
            [audio, video, Self.unit(3, isKeyFrame: false, at: 200)], [video, Self.unit(4, layer: nil, at: 100)],
            [video, Self.unit(5, at: 150)], [audio, Self.unit(6, of: "b", isKeyFrame: false)],
            [video, Self.unit(7, layer: 1, isKeyFrame: false)],
            [video, Self.unit(2 << 20, isKeyFrame: false, at: 150)],
        ]
        for group in groups {
            for unit in group { feed.deliver([unit], at: start) }
            let batch = try #require(await batches.next())
            #expect(batch.units.map(\.bytes.count) == group.map(\.bytes.count))
            feed.processed(batch)
        }
        feed.deliver([audio], at: start)
        feed.deliver([video], at: late)
        #expect(try #require(await batches.next()).units.count == 2)
        feed.deliver([video], at: start)
        feed.flush(at: late - .nanoseconds(1))
        feed.deliver([video], at: start)
        feed.flush(at: late)
        #expect(try #require(await batches.next()).units.count == 2)
        feed.deliver([video], at: start)
        feed.setNext([:], of: StreamID("a"))
        feed.deliver([audio], at: start)
        #expect(try #require(await batches.next()).units.count == 2)
    }

    @Test("a slow reader loses units, which the next batch says, and memory is bounded")
    func overflow() async throws {
        let feed = PublishedUnitFeed()
        let now = Instant(nanoseconds: 0)
        let large = Self.unit(PublishedUnitFeed.capacity / 4)
        for _ in 0..<10 { feed.deliver([large], at: now) }
        var batches = feed.batches.makeAsyncIterator()
        // Four would exceed the capacity by their overhead.
        for _ in 0..<3 {
            let batch = try #require(await batches.next())
            #expect(batch.units.count == 1 && !batch.followsLoss)
            feed.processed(batch)
        }
        feed.deliver([Self.unit(1)], at: now)
        #expect(try #require(await batches.next()).followsLoss)
        feed.deliver([], at: now)
        feed.deliver([Self.unit(2)], at: now)
        let last = try #require(await batches.next())
        #expect(last.units.map(\.bytes.count) == [2] && !last.followsLoss)
        feed.finish()
        #expect(await batches.next() == nil)
    }
}

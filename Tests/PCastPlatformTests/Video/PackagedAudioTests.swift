import NIOCore
import PCastCore
import PCastHLS
import PCastPackaging
import PCastSFU
import Testing

@testable import PCastPlatform

/// The audio tracks of a publisher that brings several.
@Suite("Packaged audio tracks") struct PackagedAudioTests {
    private static let tracks = [
        AudioTrackDescription(language: LanguageTag("eng")), AudioTrackDescription(language: LanguageTag("ger")),
        AudioTrackDescription(),
    ]

    /// Returns the multivariant playlist, which waits until further media is sent.
    private static func multivariant(_ run: inout PackagedRun) async throws -> MultivariantPlaylist {
        let (stream, now) = (run.stream, run.now)
        async let answer = stream.multivariantPlaylist(prefix: "", at: now)
        #expect(try await eventually { stream.waitingCount == 1 })
        try run.send(20)
        return try MultivariantPlaylist(String(buffer: try #require(await answer).plain))
    }

    @Test("each track is a rendition with its language, in AAC and in Opus, and the segments begin at the same times")
    func languages() async throws {
        var run = try PackagedRun(layers: 1, audio: Self.tracks)
        try run.send(350)
        let list = try await Self.multivariant(&run)
        let aac = list.renditions(.audio, in: "aac")
        #expect(aac.map(\.uri) == ["aac0.m3u8", "audio1-aac0.m3u8", "audio2-aac0.m3u8"])
        #expect(aac.map(\.name) == ["English", "Deutsch", "Audio 3"])
        #expect(aac.map(\.language) == ["en", "de", nil])
        #expect(aac.map(\.isDefault) == [true, false, false])
        #expect(aac.allSatisfy { $0.isAutoselect && $0.channels == "2" })
        #expect(list.variants.map(\.uri) == ["video0.m3u8", "aac0.m3u8"])
        let answer = await run.stream.multivariantPlaylist(prefix: "", audio: .opus, at: run.now)
        let other = try MultivariantPlaylist(String(buffer: try #require(answer).plain))
        let opus = other.renditions(.audio, in: "opus")
        #expect(opus.map(\.uri) == ["opus.m3u8", "audio1.m3u8", "audio2.m3u8"])
        #expect(opus.map(\.name) == aac.map(\.name) && opus.map(\.language) == aac.map(\.language))
        var media: [String: MediaPlaylist] = [:]
        for uri in ["video0.m3u8"] + (aac + opus).compactMap(\.uri) {
            let playlist = try #require(try await run.playlist(String(uri.dropLast(5))))
            #expect(MediaPlaylistRules.check(playlist) == [], "\(uri)")
            media[uri] = playlist
        }
        #expect(PresentationRules.check(list, media: media) == [])
        #expect(PresentationRules.check(other, media: media) == [])
        let video = try #require(media["video0.m3u8"]?.segments.first?.programDateTime)
        for (uri, playlist) in media {
            #expect(playlist.segments.count == media["video0.m3u8"]?.segments.count, "\(uri)")
            let began = try #require(playlist.segments.first?.programDateTime)
            #expect((began - video).magnitude <= .milliseconds(45), "\(uri)")
        }
        // Each rendition has files of its own.
        for name in ["audio1", "audio2", "audio1-aac0"] {
            let file = try #require(media["\(name).m3u8"]?.segments.first?.uri).split(separator: "/").last
            let fileName = String(try #require(file))
            #expect(run.stream.availableFile(fileName, of: name, at: run.now) != nil, "\(name)")
        }
    }

    @Test("AAC of all tracks ends together when no client requests it")
    func end() async throws {
        var run = try PackagedRun(layers: 1, audio: Self.tracks)
        try run.send(350)
        _ = try await Self.multivariant(&run)
        try run.send(2_900)
        _ = run.advance(by: .zero)
        // A request of any of them keeps all.
        #expect(try await run.playlist("audio2-aac0") != nil)
        try run.send(200)
        _ = run.advance(by: .zero)
        #expect(try await run.playlist("aac0") != nil, "the last request is less than a minute ago")
        try run.send(3_100)
        _ = run.advance(by: .zero)
        for name in ["aac0", "audio1-aac0", "audio2-aac0"] { #expect(try await run.playlist(name) == nil, "\(name)") }
        #expect(try await run.playlist("audio1") != nil)
        let list = try await Self.multivariant(&run)
        #expect(
            list.renditions(.audio, in: "aac").map(\.uri) == [
                "aac1.m3u8", "audio1-aac1.m3u8", "audio2-aac1.m3u8",
            ])
    }

    @Test("a track that sends nothing is left out, and the others do not wait for it")
    func silent() async throws {
        var run = try PackagedRun(layers: 1, audio: Self.tracks)
        run.silentTracks = [1]
        try run.send(350)
        let list = try await Self.multivariant(&run)
        #expect(list.renditions(.audio, in: "aac").map(\.name) == ["English", "Audio 3"])
        let answer = await run.stream.multivariantPlaylist(prefix: "", audio: .opus, at: run.now)
        let other = try MultivariantPlaylist(String(buffer: try #require(answer).plain))
        #expect(other.renditions(.audio, in: "opus").map(\.language) == ["en", nil])
    }

    @Test("a track that stops has gaps, and the others continue")
    func stops() async throws {
        var run = try PackagedRun(layers: 1, audio: Self.tracks)
        try run.send(200)
        run.silentTracks = [1]
        for _ in 0..<250 {
            try run.send(1)
            _ = run.advance(by: .zero)
        }
        let stopped = try #require(try await run.playlist("audio1"))
        #expect(stopped.segments.contains { $0.isGap || $0.parts.contains(where: \.isGap) })
        for name in ["opus", "audio2", "video0"] {
            let playlist = try #require(try await run.playlist(name))
            #expect(!playlist.segments.contains { $0.isGap || $0.isDiscontinuity }, "\(name)")
        }
    }

    @Test("the renditions of further tracks end with a publisher that does not bring them")
    func otherPublisher() async throws {
        var run = try PackagedRun(layers: 1, audio: Self.tracks)
        try run.send(200)
        run.stream.restart(at: run.now)
        _ = run.stream.setTracks([nil: .opus, 0: .h264], at: run.now)
        run.silentTracks = [1, 2]
        try run.send(200)
        for name in ["audio1", "audio2"] { #expect(try await run.playlist(name) == nil, "\(name)") }
        #expect(try await run.playlist("opus") != nil)
    }

    @Test("the packets of a further track reach the packager with their track, and are kept like those of the first")
    func feed() async throws {
        let units = PublishedUnitFeed()
        var batches = units.batches.makeAsyncIterator()
        let feed = FurtherAudioFeed(PackagedRun.id, units)
        let captureTime = WallTime(millisecondsSinceEpoch: 1_000)
        func packet(_ codec: Codec = .opus, _ bytes: [UInt8] = [1], at ticks: Int64) -> EncodedFrame {
            EncodedFrame(
                codec: codec, bytes: bytes, isKeyFrame: true, timestamp: MediaTime(ticks: ticks, rate: .opus),
                captureTime: captureTime)
        }
        units.setNext([.audio(0): 0, .audio(3): 1_000], of: PackagedRun.id)
        // Those of another codec, without data, and that are too large are not passed on.
        feed.send(packet(.h264, at: 10), track: 3)
        feed.send(packet(.opus, [], at: 20), track: 3)
        feed.send(packet(.opus, [UInt8](repeating: 1, count: 1_201), at: 25), track: 3)
        // The first one waits for the last, and another follows the one before too soon.
        feed.send(packet(at: 30), track: 3)
        feed.send(packet(at: 129), track: 3)
        feed.send(packet(at: 130), track: 3)
        feed.send(packet(at: 1_000), track: 3)
        let batch = try #require(await batches.next())
        #expect(batch.units.map(\.timestamp) == [30, 130, 1_000])
        #expect(batch.units.allSatisfy { $0.track == .audio(3) && $0.stream == PackagedRun.id && $0.layer == nil })
        #expect(batch.units.allSatisfy { $0.captureTime == captureTime })
    }
}

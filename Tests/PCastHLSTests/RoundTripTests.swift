import PCastCore
import PCastHLS
import Testing

@Suite("Written playlists are parsed to the same content")
struct RoundTripTests {
    @Test("live playlists are equal at every time", arguments: UInt64(1)...10)
    func live(seed: UInt64) throws {
        let server = LiveServer(seed: seed, count: 20)
        for step in 8..<Int(server.end.milliseconds / 500) {
            let playlist = server.playlist(at: .milliseconds(500) * Int64(step))
            #expect(try MediaPlaylist(playlist.text) == playlist)
        }
    }

    @Test("a playlist that is not complete has its media sequence, also 0, by which players know that it is live")
    func mediaSequence() throws {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na\n"
        #expect(try MediaPlaylist(text).text.contains("#EXT-X-MEDIA-SEQUENCE:0\n"))
        #expect(try !MediaPlaylist(text + "#EXT-X-ENDLIST\n").text.contains("MEDIA-SEQUENCE"))
    }

    @Test("a multivariant playlist with all elements is equal")
    func multivariant() throws {
        var variant = VariantStream(
            uri: "a.m3u8", bandwidth: .kilobits(2_000), averageBandwidth: .kilobits(1_500), codecs: ["avc1", "mp4a"],
            resolution: Dimensions(width: 1_280, height: 720), framesPerSecond: 59.94, audio: "a", subtitles: "s")
        (variant.score, variant.pathwayID, variant.stableID) = (0.123456789, "p", "id")
        (variant.video, variant.closedCaptions, variant.videoRange) = ("v", VariantStream.ClosedCaptions.none, "HLG")
        (variant.supplementalCodecs, variant.requiredVideoLayout) = (["dvh1/db4h"], "CH-STEREO")
        (variant.hdcpLevel, variant.allowedCPC) = ("TYPE-1", "com.example:A/B")
        var rendition = Rendition(
            .audio, uri: "en.m3u8", group: "a", name: "English", language: "en", isDefault: true, isAutoselect: true,
            channels: "2")
        (rendition.associatedLanguage, rendition.stableID, rendition.pathwayID) = ("en-GB", "r", "p")
        (rendition.bitDepth, rendition.sampleRate, rendition.characteristics) = (16, 48_000, ["a", "b"])
        rendition.instreamID = "CC1"
        var fast = VariantStream(uri: "i.m3u8", bandwidth: .kilobits(100))
        fast.closedCaptions = .group("NONE")
        let playlist = MultivariantPlaylist(
            version: 12, hasIndependentSegments: true, start: StartPoint(offset: seconds(-3.25), isPrecise: true),
            variables: [PlaylistVariable(name: "x", value: "y")], variants: [variant, variant], iFrameVariants: [fast],
            renditions: [rendition],
            sessionData: [
                SessionData(id: "d", .value("v"), language: "de"),
                SessionData(id: "e", .resource(uri: "u", isRaw: true)),
            ],
            sessionKeys: [EncryptionKey(method: .other("NEW"), uri: "k", keyFormat: "f", keyFormatVersions: "1")],
            contentSteering: ContentSteering(serverURI: "s", pathwayID: "p"))
        #expect(try MultivariantPlaylist(playlist.text) == playlist)
    }

    @Test("invalid names never become separate lines or attributes")
    func injection() throws {
        let evil = "x\"\n#EXT-X-ENDLIST\n#EXTINF:1,\nevil.ts"
        let playlist = MediaPlaylist(
            targetDuration: seconds(4),
            segments: [
                MediaSegment(
                    number: 0, uri: "a\n#EXT-X-ENDLIST", duration: seconds(4), title: evil,
                    keys: [EncryptionKey(method: .other("A,URI=\"b\""), uri: evil)])
            ], dateRanges: [DateRange(id: evil, start: wall(0))])
        let read = try MediaPlaylist(playlist.text)
        #expect(!read.isComplete && read.segments.count == 1 && read.dateRanges.count == 1)
        #expect(read.segments[0].uri == "a#EXT-X-ENDLIST")
        #expect(read.segments[0].keys.map(\.uri) == ["x#EXT-X-ENDLIST#EXTINF:1,evil.ts"])
    }

    @Test("numbers and times are written exactly")
    func numbers() throws {
        let times = [wall(0), wall(0.5), WallTime(nanosecondsSinceEpoch: -1), WallTime(nanosecondsSinceEpoch: 1_234)]
        let durations = [seconds(4), TimeSpan(nanoseconds: 1), seconds(0.1), TimeSpan(nanoseconds: 3_999_999_999)]
        let playlist = MediaPlaylist(
            targetDuration: seconds(4), mediaSequence: 1 << 60,
            segments: times.indices.map {
                MediaSegment(
                    number: (1 << 60) + Int64($0), uri: "\($0)", duration: durations[$0], programDateTime: times[$0])
            })
        #expect(try MediaPlaylist(playlist.text) == playlist)
        #expect(playlist.text.contains("#EXTINF:0.000000001,\n"))
        #expect(playlist.text.contains("1969-12-31T23:59:59.999999999Z"))
    }
}

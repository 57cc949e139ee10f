import PCastCore
import PCastHLS
import Testing

@Suite("The parser of multivariant playlists")
struct MultivariantPlaylistTests {
    @Test("variants with renditions of audio and subtitles (RFC 8216, section 8.6)")
    func renditions() throws {
        let playlist = try multivariant(
            """
            #EXT-X-VERSION:6
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="English",DEFAULT=YES,AUTOSELECT=YES,LANGUAGE="en",URI="en.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8",CHANNELS="6/-/BINAURAL"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Deutsch",FORCED=YES,LANGUAGE="de",URI="s.m3u8"
            #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1",CHARACTERISTICS="a.b, c.d"
            #EXT-X-MEDIA:TYPE=HOLOGRAM,GROUP-ID="x",NAME="x"
            #EXT-X-STREAM-INF:BANDWIDTH=1280000,AVERAGE-BANDWIDTH=1000000,CODECS="avc1.4d401e, mp4a.40.2",\
            RESOLUTION=640x360,FRAME-RATE=29.97,AUDIO="aac",SUBTITLES="s",CLOSED-CAPTIONS="cc",VIDEO-RANGE=SDR
            low/video-only.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=65000,CODECS="mp4a.40.5",CLOSED-CAPTIONS=NONE
            main/english-audio.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=86000,URI="low/iframe.m3u8",RESOLUTION=640x360
            """)
        #expect(playlist.hasIndependentSegments && playlist.version == 6)
        #expect(playlist.renditions.map(\.name) == ["English", "Deutsch", "Deutsch", "CC"])
        #expect(playlist.renditions(.audio, in: "aac").map(\.isDefault) == [true, false])
        #expect(playlist.renditions[1].channels == "6/-/BINAURAL")
        #expect(playlist.renditions[2].isForced)
        #expect(
            playlist.renditions[3].characteristics == ["a.b", "c.d"] && playlist.renditions[3].uri == nil)
        let variant = playlist.variants[0]
        #expect(variant.uri == "low/video-only.m3u8" && variant.bandwidth == .kilobits(1_280))
        #expect(
            variant.averageBandwidth == .kilobits(1_000)
                && variant.codecs == ["avc1.4d401e", "mp4a.40.2"])
        #expect(
            variant.resolution == Dimensions(width: 640, height: 360) && variant.framesPerSecond == 29.97)
        #expect(variant.closedCaptions == .group("cc") && variant.videoRange == "SDR")
        #expect(playlist.variants[1].closedCaptions == VariantStream.ClosedCaptions.none)
        #expect(playlist.iFrameVariants.map(\.uri) == ["low/iframe.m3u8"])
    }

    @Test("session data and keys, start point, content steering and variables are parsed")
    func session() throws {
        let playlist = try multivariant(
            """
            #EXT-X-DEFINE:NAME="p",VALUE="path"
            #EXT-X-START:TIME-OFFSET=-12.5,PRECISE=YES
            #EXT-X-SESSION-DATA:DATA-ID="com.example.lyrics",URI="lyrics.json"
            #EXT-X-SESSION-DATA:DATA-ID="com.example.raw",URI="raw",FORMAT=RAW
            #EXT-X-SESSION-DATA:DATA-ID="com.example.title",LANGUAGE="en",VALUE="The {$p}"
            #EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://1",KEYFORMAT="f"
            #EXT-X-CONTENT-STEERING:SERVER-URI="/steer",PATHWAY-ID="CDN-A"
            #EXT-X-STREAM-INF:BANDWIDTH=1,SCORE=2.5,PATHWAY-ID="CDN-A",STABLE-VARIANT-ID="v1",HDCP-LEVEL=TYPE-0
            {$p}/a.m3u8
            """)
        #expect(playlist.start == StartPoint(offset: seconds(-12.5), isPrecise: true))
        #expect(
            playlist.sessionData.map(\.content) == [
                .resource(uri: "lyrics.json", isRaw: false), .resource(uri: "raw", isRaw: true),
                .value("The path"),
            ])
        #expect(playlist.sessionKeys.map(\.keyFormat) == ["f"])
        #expect(playlist.contentSteering == ContentSteering(serverURI: "/steer", pathwayID: "CDN-A"))
        #expect(playlist.variants[0].uri == "path/a.m3u8" && playlist.variants[0].score == 2.5)
        #expect(playlist.variants[0].hdcpLevel == "TYPE-0" && playlist.variants[0].stableID == "v1")
        #expect(playlist.variables == [PlaylistVariable(name: "p", value: "path")])
    }

    @Test("the tags determine the type of a playlist")
    func kinds() throws {
        let variants = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-STREAM-INF:BANDWIDTH=1\na\n"
        guard case .multivariant(let read) = try HLSPlaylist(Array(variants.utf8)) else {
            Issue.record("the playlist was parsed as a media playlist")
            return
        }
        #expect(read.variants.map(\.uri) == ["a"])
        let segments = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n"
        guard case .media(let read) = try HLSPlaylist(Array(segments.utf8)) else {
            Issue.record("the playlist was parsed as a multivariant playlist")
            return
        }
        #expect(read.segments.map(\.uri) == ["a"])
    }
}

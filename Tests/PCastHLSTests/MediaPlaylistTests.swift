import PCastCore
import PCastHLS
import Testing

@Suite("The parser of media playlists")
struct MediaPlaylistTests {
    @Test("a complete playlist of three segments (RFC 8216, section 8.1)")
    func simple() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:10
            #EXT-X-VERSION:3
            #EXTINF:9.009,
            http://media.example.com/first.ts
            #EXTINF:9.009,
            http://media.example.com/second.ts
            #EXTINF:3.003,
            http://media.example.com/third.ts
            #EXT-X-ENDLIST
            """)
        #expect(playlist.version == 3)
        #expect(playlist.targetDuration == seconds(10))
        #expect(playlist.segments.map(\.duration) == [seconds(9.009), seconds(9.009), seconds(3.003)])
        #expect(playlist.segments.map(\.number) == [0, 1, 2])
        #expect(playlist.segments[2].uri == "http://media.example.com/third.ts")
        #expect(playlist.isComplete && !playlist.isLive && playlist.openSegment == nil)
    }

    @Test("a live window with media sequence numbers (RFC 8216, section 8.2)")
    func live() throws {
        let playlist = try media(
            """
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:8
            #EXT-X-MEDIA-SEQUENCE:2680

            #EXTINF:7.975,
            https://priv.example.com/fileSequence2680.ts
            #EXTINF:7.941,
            https://priv.example.com/fileSequence2681.ts
            #EXTINF:7.975,
            https://priv.example.com/fileSequence2682.ts
            """)
        #expect(playlist.isLive && playlist.kind == nil)
        #expect(playlist.nextNumber == 2683)
        #expect(playlist.segment(2681)?.duration == seconds(7.941))
        #expect(playlist.segment(2679) == nil && playlist.segment(2683) == nil)
    }

    @Test(
        "keys that change within a window, and a vector from the number (RFC 8216, sections 8.3 and 5.2)"
    )
    func keys() throws {
        let playlist = try media(
            """
            #EXT-X-MEDIA-SEQUENCE:7794
            #EXT-X-TARGETDURATION:15
            #EXT-X-KEY:METHOD=AES-128,URI="https://priv.example.com/key.php?r=52"
            #EXTINF:2.833,
            52-A.ts
            #EXTINF:15.0,
            52-B.ts
            #EXT-X-KEY:METHOD=AES-128,URI="https://priv.example.com/key.php?r=53",IV=0x1F
            #EXTINF:15.0,
            53-A.ts
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:15.0,
            clear.ts
            """)
        let keys = playlist.segments.map(\.keys)
        #expect(keys.map { $0.first?.uri.suffix(2) } == ["52", "52", "53", nil])
        let first = try #require(keys[0].first)
        #expect(
            first.method == .aes128 && first.keyFormat == "identity" && first.initializationVector == nil)
        // 7794 is 0x1E72.
        #expect(
            first.initializationVector(forSegment: 7794) == [UInt8](repeating: 0, count: 14) + [
                0x1E, 0x72,
            ])
        let second = try #require(keys[2].first)
        #expect(
            second.initializationVector(forSegment: 7796) == [UInt8](repeating: 0, count: 15) + [0x1F])
    }

    @Test("keys of several formats apply together, and one replaces only its own format's")
    func keyFormats() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:2
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://1",KEYFORMAT="com.example.b",KEYFORMATVERSIONS="1/3"
            #EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="x",KEYFORMAT="com.example.a"
            #EXTINF:2,
            0
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://2",KEYFORMAT="com.example.b"
            #EXTINF:2,
            1
            """)
        #expect(playlist.segments[0].keys.map(\.uri) == ["x", "skd://1"])
        #expect(playlist.segments[0].keys.map(\.method) == [.sampleAESCTR, .sampleAES])
        #expect(playlist.segments[0].keys[1].keyFormatVersions == "1/3")
        #expect(playlist.segments[1].keys.map(\.uri) == ["x", "skd://2"])
    }

    @Test("an initialization keeps the key before it, and applies until the next one")
    func initialization() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:2
            #EXT-X-KEY:METHOD=AES-128,URI="k1",IV=0x1
            #EXT-X-MAP:URI="init.mp4",BYTERANGE="600"
            #EXT-X-KEY:METHOD=AES-128,URI="k2"
            #EXTINF:2,
            0
            #EXT-X-DISCONTINUITY
            #EXTINF:2,
            1
            #EXT-X-MAP:URI="other.mp4"
            #EXTINF:2,
            2
            """)
        let first = try #require(playlist.segments[0].initialization)
        #expect(first.uri == "init.mp4" && first.byteRange == ByteRange(offset: 0, length: 600))
        #expect(first.keys.map(\.uri) == ["k1"] && playlist.segments[0].keys.map(\.uri) == ["k2"])
        #expect(playlist.segments[1].initialization == first)
        #expect(playlist.segments[2].initialization?.uri == "other.mp4")
    }

    @Test("byte ranges continue at the end of the previous one, only in the same resource")
    func byteRanges() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:2
            #EXTINF:2,
            #EXT-X-BYTERANGE:100@50
            a
            #EXT-X-BYTERANGE:10
            #EXTINF:2,
            a
            """)
        #expect(
            playlist.segments.map(\.byteRange) == [
                ByteRange(offset: 50, length: 100), ByteRange(offset: 150, length: 10),
            ])
        #expect(throws: PlaylistError.byteRangeWithoutStart(line: 8)) {
            try media(
                "#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n#EXT-X-BYTERANGE:100@50\na\n#EXT-X-BYTERANGE:10\n#EXTINF:2,\nb"
            )
        }
    }

    @Test("a segment has its title, gap, bit rate and date")
    func segmentTags() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:2
            #EXT-X-BITRATE:800
            #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:10.5Z
            #EXT-X-GAP
            #EXTINF:2,A title, with a comma
            0
            #EXT-X-BYTERANGE:5@0
            #EXTINF:2,
            1
            #EXTINF:2
            2
            """)
        let first = playlist.segments[0]
        #expect(
            first.title == "A title, with a comma" && first.isGap && first.programDateTime == wall(10.5))
        // Segments with a length have their own bit rate.
        #expect(playlist.segments.map(\.kilobitsPerSecond) == [800, nil, 800])
        #expect(playlist.segments.map(\.isGap) == [true, false, false])
        #expect(playlist.segments[2].title == nil)
    }

    @Test(
        "dates are parsed in every form of ISO 8601 that servers write",
        arguments: [
            ("2026-01-01T00:00:10Z", 10.0), ("2026-01-01T01:00:10+01:00", 10),
            ("2026-01-01T01:00:10+0100", 10),
            ("2025-12-31T23:00:10-01", 10), ("2026-01-01T00:00:10", 10),
            ("2026-01-01T00:00:10.25Z", 10.25),
            ("2026-01-01T00:00:10,250000000Z", 10.25), ("2026-01-01t00:00:10z", 10),
            ("2026-01-01T00:01Z", 60),
            ("2025-12-31T23:59:60Z", 0), ("2024-02-29T00:00:00Z", -58_060_800),
        ])
    func dates(text: String, expected: Double) throws {
        let playlist = try media(
            "#EXT-X-TARGETDURATION:2\n#EXT-X-PROGRAM-DATE-TIME:\(text)\n#EXTINF:2,\na")
        #expect(playlist.segments[0].programDateTime == wall(expected))
    }

    @Test(
        "an invalid date leaves the segment without one, and it plays",
        arguments: [
            "yesterday", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00+",
            "9999-01-01T00:00:00Z", "2026-01-01", "2200-12-31T23:59:59-23:00", "2026-01-01T00:00:00Zx",
        ])
    func wrongDates(text: String) throws {
        let playlist = try media(
            "#EXT-X-TARGETDURATION:2\n#EXT-X-PROGRAM-DATE-TIME:\(text)\n#EXTINF:2,\na")
        #expect(playlist.segments[0].programDateTime == nil)
    }

    @Test("parts, hints, reports and server control are parsed")
    func lowLatency() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:4
            #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=24,HOLD-BACK=12.5
            #EXT-X-PART-INF:PART-TARGET=0.33334
            #EXT-X-MEDIA-SEQUENCE:270
            #EXT-X-PART:DURATION=2,URI="270.0.mp4",INDEPENDENT=YES
            #EXT-X-PART:DURATION=2,URI="270.1.mp4",GAP=YES
            #EXTINF:4,
            270.mp4
            #EXT-X-PART:DURATION=0.33334,URI="271.mp4",BYTERANGE="1000@0",INDEPENDENT=YES
            #EXT-X-PART:DURATION=0.33334,URI="271.mp4",BYTERANGE="500"
            #EXT-X-PRELOAD-HINT:TYPE=PART,URI="271.mp4",BYTERANGE-START=1500
            #EXT-X-PRELOAD-HINT:TYPE=MAP,URI="next.mp4",BYTERANGE-LENGTH=90
            #EXT-X-PRELOAD-HINT:TYPE=SOMETHING,URI="new"
            #EXT-X-RENDITION-REPORT:URI="../1M/a.m3u8",LAST-MSN=271,LAST-PART=1
            """)
        #expect(playlist.partTargetDuration == seconds(0.33334))
        #expect(
            playlist.serverControl
                == ServerControl(
                    canSkipUntil: seconds(24), holdBack: seconds(12.5), partHoldBack: seconds(1),
                    canBlockReload: true))
        #expect(playlist.segments[0].parts.map(\.isGap) == [false, true])
        let open = try #require(playlist.openSegment)
        #expect(open.number == 271 && open.uri == nil && open.duration == seconds(0.66668))
        #expect(open.parts[1].byteRange == ByteRange(offset: 1000, length: 500))
        #expect(
            playlist.preloadHints == [
                PreloadHint(.part, uri: "271.mp4", start: 1500),
                PreloadHint(.initialization, uri: "next.mp4", length: 90),
            ])
        #expect(
            playlist.renditionReports == [
                RenditionReport(uri: "../1M/a.m3u8", lastSegment: 271, lastPart: 1)
            ])
    }

    @Test("a date range is composed of its tags, and an invalid one is omitted")
    func dateRanges() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:4
            #EXT-X-DATERANGE:ID="a",CLASS="ads",START-DATE="2026-01-01T00:00:10Z",PLANNED-DURATION=59.9,SCTE35-OUT=0xFC
            #EXT-X-DATERANGE:ID="broken",START-DATE="soon"
            #EXT-X-DATERANGE:ID="b",CLASS="ads",START-DATE="2026-01-01T00:01:00Z",END-ON-NEXT=YES,CUE="PRE,ONCE",X-N=5
            #EXT-X-DATERANGE:ID="c",CLASS="ads",START-DATE="2026-01-01T00:02:00Z",DURATION=30,X-COM-B="q",X-COM-A=0x1
            #EXT-X-DATERANGE:ID="a",END-DATE="2026-01-01T00:00:40Z",SCTE35-IN=0xFD
            #EXTINF:4,
            0
            """)
        let ranges = playlist.dateRanges
        #expect(ranges.map(\.id) == ["a", "b", "c"])
        #expect(ranges[0].plannedDuration == seconds(59.9))
        #expect(ranges[0].scte35 == [.init(.back, "0xFD"), .init(.out, "0xFC")])
        #expect(ranges.map { ranges.end(of: $0) } == [wall(40), wall(120), wall(150)])
        #expect(ranges[1].cues == [.pre, .once] && ranges[1].attributes == [.init("X-N", .unquoted("5"))])
        #expect(
            ranges[2].attributes == [.init("X-COM-A", .unquoted("0x1")), .init("X-COM-B", .quoted("q"))])
    }

    @Test("a date range of more nanoseconds than 64 bits has its planned duration, and one that ends early has none")
    func extremeDateRanges() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:4
            #EXT-X-DATERANGE:ID="a",START-DATE="1700-01-01T00:00:00Z",END-DATE="2200-01-01T00:00:00Z"
            #EXT-X-DATERANGE:ID="b",START-DATE="1700-01-01T00:00:00Z",END-DATE="2200-01-01T00:00:00Z",PLANNED-DURATION=8
            #EXT-X-DATERANGE:ID="c",START-DATE="2200-01-01T00:00:00Z",END-DATE="1700-01-01T00:00:00Z"
            #EXT-X-DATERANGE:ID="d",START-DATE="2026-01-01T00:00:10Z",END-DATE="2026-01-01T00:00:05Z"
            #EXT-X-DATERANGE:ID="e",START-DATE="2026-01-01T00:00:10Z",END-DATE="2026-01-01T00:00:15Z"
            #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z
            #EXTINF:4,
            0
            """)
        let ranges = playlist.dateRanges
        #expect(ranges.map(\.id) == ["a", "b", "c", "d", "e"])
        #expect(ranges.map { ranges.duration(of: $0) } == [nil, seconds(8), nil, seconds(0), seconds(5)])
    }

    @Test("discontinuities count from the header's number, also one before the first segment")
    func discontinuities() throws {
        // The server increases the header's number only when the tag leaves the window.
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:4
            #EXT-X-DISCONTINUITY-SEQUENCE:7
            #EXT-X-DISCONTINUITY
            #EXTINF:4,
            0
            #EXTINF:4,
            1
            #EXT-X-DISCONTINUITY
            #EXTINF:4,
            2
            """)
        #expect(playlist.segments.map(\.discontinuity) == [8, 8, 9])
        #expect(playlist.segments.map(\.isDiscontinuity) == [true, false, true])
    }

    @Test("deviations of servers from the RFC are accepted")
    func tolerated() throws {
        let playlist = try MediaPlaylist(
            "#EXTM3U \r\n#EXT-X-TARGETDURATION:9.2\r\n# a comment\r\n#EXT-X-NEW-TAG:1\r\n"
                + "#EXT-X-KEY:METHOD=AES-128, URI=key.bin , NEW=\"x\"\r\n#EXTINF:10.\r\n  a b.ts \r\n\r\n#EXT-X-ENDLIST"
        )
        // A fraction of a target duration is rounded up, because no segment may be longer.
        #expect(playlist.targetDuration == seconds(10))
        #expect(playlist.segments.map(\.uri) == ["a b.ts"])
        #expect(playlist.segments[0].keys.map(\.uri) == ["key.bin"])
        #expect(playlist.segments[0].duration == seconds(10))
        #expect(playlist.isComplete)
    }

    @Test("variables come from the text, the address and the multivariant playlist")
    func variables() throws {
        let playlist = try media(
            """
            #EXT-X-TARGETDURATION:4
            #EXT-X-DEFINE:NAME="dir",VALUE="media"
            #EXT-X-DEFINE:QUERYPARAM="token"
            #EXT-X-DEFINE:IMPORT="host"
            #EXT-X-KEY:METHOD=AES-128,URI="https://{$host}/k?{$token}",IV=0x{$dir}1
            """.replacing("IV=0x{$dir}1", with: "IV=0x1")
                + "\n#EXTINF:4,{$dir}\n{$dir}/{$dir}.ts?t={$token}",
            from: "https://example.com/a.m3u8?token=%61%2Fb", importing: [.init(name: "host", value: "h")]
        )
        #expect(playlist.segments[0].uri == "media/media.ts?t=a/b")
        #expect(playlist.segments[0].keys.first?.uri == "https://h/k?a/b")
        // Variables in a title are not replaced.
        #expect(playlist.segments[0].title == "{$dir}")
        #expect(playlist.variables.map(\.value) == ["media", "a/b", "h"])
    }
}

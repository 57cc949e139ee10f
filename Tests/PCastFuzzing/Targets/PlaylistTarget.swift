import PCastCore
import PCastHLS

/// Playlists that are parsed, written, parsed again, placed in time and reloaded. A zero byte divides versions of one
/// playlist, which a server would send one after another.
enum PlaylistTarget {
    private static let uri = "https://example.com/live/stream.m3u8?token=abc"
    private static let variables = [PlaylistVariable(name: "host", value: "example.com")]

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var isRead = false
        var known: MediaPlaylist?
        var timeline: PlaylistTimeline?
        let start = Instant(nanoseconds: 0)
        var reload = PlaylistReload(mirrors: 2, seed: 1, at: start)
        var now = start
        for version in bytes.split(separator: 0, maxSplits: 8, omittingEmptySubsequences: false) {
            let result = Result { () throws(PlaylistError) in
                try HLSPlaylist(Array(version), from: uri, importing: variables, updating: known)
            }
            if case .success(.media(let playlist)) = result {
                try place(playlist, in: &timeline)
                known = playlist
            }
            if case .success(let playlist) = result, !isUpdate(Array(version)) {
                isRead = true
                try roundTrip(playlist)
            }
            now = try drive(&reload, with: result, from: now)
        }
        return isRead
    }

    /// Returns whether a playlist omits a part, so that it is only an update.
    private static func isUpdate(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("#EXT-X-SKIP")
    }

    private static func roundTrip(_ playlist: HLSPlaylist) throws(BrokenInvariant) {
        let text = playlist.text
        guard text.utf8.count <= PlaylistLimits.textSize,
            text.utf8.split(separator: 0x0A).allSatisfy({ $0.count <= PlaylistLimits.lineSize })
        else { return }
        guard let again = try? HLSPlaylist(Array(text.utf8), from: uri) else {
            throw BrokenInvariant(description: "a written playlist that does not read back: \(text)")
        }
        try check(again == playlist, "a playlist that changed: \(text)")
        guard case .media(let media) = playlist, media.serverControl.canSkipUntil != nil else { return }
        guard let merged = try? MediaPlaylist(media.deltaUpdate, updating: media) else {
            throw BrokenInvariant(description: "an update that cannot be added: \(media.deltaUpdate)")
        }
        // Skipped segments have lost their parts.
        var expected = media
        for index in expected.segments.indices where merged.segments.indices.contains(index) {
            if merged.segments[index].parts.isEmpty { expected.segments[index].parts = [] }
        }
        try check(merged == expected, "an update that changed its playlist: \(media.deltaUpdate)")
    }

    private static func place(_ playlist: MediaPlaylist, in known: inout PlaylistTimeline?) throws(BrokenInvariant) {
        var timeline = known ?? PlaylistTimeline(playlist)
        if known != nil { _ = timeline.update(to: playlist) }
        known = timeline
        for range in playlist.dateRanges {
            let duration = playlist.dateRanges.duration(of: range)
            try check(duration.map { $0 >= .zero } ?? true, "a date range of a negative duration")
            _ = playlist.dateRanges.end(of: range)
        }
        let aligned = PlaylistTimeline(playlist, alignedWith: timeline)
        for timeline in [timeline, aligned] {
            for (segment, next) in zip(timeline.segments, timeline.segments.dropFirst()) {
                try check(next.start == segment.end && next.number == segment.number + 1, "segments that do not join")
            }
            for usesParts in [false, true] {
                let range = timeline.seekableRange(usingParts: usesParts)
                try check(range.contains(timeline.startPosition(usingParts: usesParts)), "begins outside")
            }
            let middle = timeline.start + (timeline.end - timeline.start) / 2
            if let segment = timeline.segment(at: middle) {
                try check(segment.start <= middle && middle < segment.end, "a segment that does not hold its time")
                for part in timeline.parts(of: segment.number) { _ = part.end }
            }
            _ = timeline.independentPart(for: middle)
            for extreme in [Int64.min, 0, Int64.max] {
                _ = timeline.position(of: WallTime(nanosecondsSinceEpoch: extreme))
            }
            guard let time = timeline.wallTime(at: middle), let back = timeline.position(of: time) else { continue }
            try check(back >= timeline.start && back <= timeline.end, "a moment outside of the window")
        }
    }

    /// Answers all requests until the next waiting time.
    private static func drive(
        _ reload: inout PlaylistReload, with result: Result<HLSPlaylist, PlaylistError>, from now: Instant
    ) throws(BrokenInvariant) -> Instant {
        var requests = 0
        var now = now
        for _ in 0..<4 {
            while let output = reload.poll() {
                guard case .load(let request) = output else { continue }
                requests += 1
                _ = request.directives.applied(to: uri)
                switch result {
                case .success(.media(let playlist)):
                    reload.handle(.loaded(id: request.id, playlist), at: now)
                case .success: reload.handle(.failed(id: request.id, .unreachable), at: now)
                case .failure(let error): reload.handle(.failed(id: request.id, .unreadable(error)), at: now)
                }
            }
            guard let deadline = reload.deadline else { break }
            try check(deadline >= now, "a deadline in the past")
            now = deadline
            reload.advance(to: now)
        }
        try check(requests <= 5, "\(requests) requests without a pause")
        return now
    }

    static let corpus: [[UInt8]] =
        [multivariant, onDemand, lowLatency, lowLatency + "\0" + update, live, edges].map { Array($0.utf8) }

    private static let multivariant = """
        #EXTM3U
        #EXT-X-VERSION:8
        #EXT-X-DEFINE:NAME="cdn",VALUE="https://cdn.example.com/a"
        #EXT-X-DEFINE:QUERYPARAM="token"
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-START:TIME-OFFSET=-12.5,PRECISE=YES
        #EXT-X-CONTENT-STEERING:SERVER-URI="/steering?video=7",PATHWAY-ID="A"
        #EXT-X-SESSION-DATA:DATA-ID="com.example.title",VALUE="A title",LANGUAGE="en"
        #EXT-X-SESSION-KEY:METHOD=AES-128,URI="key.bin",IV=0x1f
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="{$cdn}/en.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",NAME="Deutsch",LANGUAGE="de",FORCED=YES,URI="de.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=1280000,AVERAGE-BANDWIDTH=1000000,CODECS="avc1.4d401e,mp4a.40.2",\
        RESOLUTION=640x360,FRAME-RATE=29.970,AUDIO="aac",SUBTITLES="subs",CLOSED-CAPTIONS=NONE
        {$cdn}/low.m3u8?t={$token}
        #EXT-X-STREAM-INF:BANDWIDTH=7680000,CODECS="avc1.640028",RESOLUTION=1920x1080,SCORE=2.5,VIDEO-RANGE=SDR
        high.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=86000,URI="low/iframe.m3u8"

        """

    private static let onDemand = """
        #EXTM3U
        #EXT-X-TARGETDURATION:11
        #EXT-X-VERSION:4
        #EXT-X-PLAYLIST-TYPE:VOD
        #EXT-X-MAP:URI="main.mp4",BYTERANGE="720@0"
        #EXT-X-KEY:METHOD=AES-128,URI="https://keys.example.com/1",IV=0x000102030405060708090a0b0c0d0e0f
        #EXTINF:9.009,First, with a comma
        #EXT-X-BYTERANGE:75232@720
        main.mp4
        #EXTINF:9.009,
        #EXT-X-BYTERANGE:82112
        main.mp4
        #EXT-X-KEY:METHOD=NONE
        #EXT-X-DISCONTINUITY
        #EXT-X-BITRATE:1200
        #EXTINF:3.003,
        #EXT-X-GAP
        http://media.example.com/third.ts
        #EXT-X-ENDLIST

        """

    private static let lowLatency = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-VERSION:9
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=12.0,CAN-SKIP-DATERANGES=YES
        #EXT-X-PART-INF:PART-TARGET=0.33334
        #EXT-X-MEDIA-SEQUENCE:264
        #EXT-X-DEFINE:IMPORT="host"
        #EXT-X-PROGRAM-DATE-TIME:2026-02-14T02:13:36.106Z
        #EXTINF:4.00008,
        segment264.mp4
        #EXTINF:4.00008,
        segment265.mp4
        #EXTINF:4.00008,
        segment266.mp4
        #EXTINF:4.00008,
        segment267.mp4
        #EXT-X-PART:DURATION=2.00004,URI="part268.0.mp4",INDEPENDENT=YES
        #EXT-X-PART:DURATION=2.00004,URI="part268.1.mp4"
        #EXTINF:4.00008,
        segment268.mp4
        #EXT-X-DATERANGE:ID="ad",CLASS="ads",START-DATE="2026-02-14T02:13:40+01:00",DURATION=8,X-COM-EXAMPLE="x",\
        SCTE35-OUT=0xFC00
        #EXT-X-PART:DURATION=0.33334,URI="https://{$host}/part269.mp4",INDEPENDENT=YES,BYTERANGE="1000@0"
        #EXT-X-PART:DURATION=0.33334,URI="https://{$host}/part269.mp4",BYTERANGE="1200"
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="part269.mp4",BYTERANGE-START=2200
        #EXT-X-RENDITION-REPORT:URI="../1M/stream.m3u8",LAST-MSN=269,LAST-PART=1

        """

    private static let update = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-VERSION:9
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=12.0,CAN-SKIP-DATERANGES=YES
        #EXT-X-PART-INF:PART-TARGET=0.33334
        #EXT-X-MEDIA-SEQUENCE:265
        #EXT-X-SKIP:SKIPPED-SEGMENTS=2,RECENTLY-REMOVED-DATERANGES="ad"
        #EXTINF:4.00008,
        segment267.mp4
        #EXTINF:4.00008,
        segment268.mp4
        #EXTINF:4.00008,
        segment269.mp4
        #EXT-X-DISCONTINUITY
        #EXT-X-PART:DURATION=0.33334,URI="part270.0.mp4",INDEPENDENT=YES

        """

    private static let live = """
        #EXTM3U
        #EXT-X-TARGETDURATION:2
        #EXT-X-MEDIA-SEQUENCE:10
        #EXT-X-DISCONTINUITY-SEQUENCE:3
        #EXT-X-PROGRAM-DATE-TIME:2026-02-14T00:00:00Z
        #EXTINF:2,
        10.ts
        #EXT-X-DISCONTINUITY
        #EXTINF:2,
        11.ts
        #EXT-X-PROGRAM-DATE-TIME:2026-02-14T01:00:00Z
        #EXTINF:1.5,
        12.ts
        \0#EXTM3U
        #EXT-X-TARGETDURATION:2
        #EXT-X-MEDIA-SEQUENCE:11
        #EXT-X-DISCONTINUITY-SEQUENCE:3
        #EXT-X-DISCONTINUITY
        #EXTINF:2,
        11.ts
        #EXTINF:1.5,
        12.ts
        #EXTINF:2,
        13.ts
        \0#EXTM3U
        #EXT-X-TARGETDURATION:2
        #EXT-X-MEDIA-SEQUENCE:0
        #EXTINF:2,
        new0.ts
        #EXT-X-ENDLIST

        """

    private static let edges = """
        #EXTM3U
        #EXT-X-VERSION:13
        #EXT-X-TARGETDURATION:86400
        #EXT-X-MEDIA-SEQUENCE:2305843009213693950
        #EXT-X-PLAYLIST-TYPE:EVENT
        #EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=0
        #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://a",KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1/2"
        #EXT-X-KEY:METHOD=AES-128,URI="k"
        #EXT-X-DATERANGE:ID="a",START-DATE="1700-01-01T00:00:00Z",END-DATE="2200-12-31T23:59:59Z"
        #EXT-X-DATERANGE:ID="b",START-DATE="2200-12-31T23:59:59Z",DURATION=316224000
        #EXTINF:86400.999999999,
        #EXT-X-PROGRAM-DATE-TIME:1700-01-01T00:00:00.000000001Z
        a
        #EXT-X-PROGRAM-DATE-TIME:2200-12-31T23:59:60-00:59
        #EXTINF:0,
        #EXT-X-BYTERANGE:2305843009213693952@2305843009213693952
        b
        #EXT-X-DISCONTINUITY

        """
}

import PCastCore
import PCastHLS
import Testing

@Suite("The positions of segments in time")
struct PlaylistTimelineTests {
    private static let head = "#EXT-X-TARGETDURATION:4\n"

    private func playlist(_ numbers: Range<Int>, _ extra: [Int: String] = [:], more: String = "") throws
        -> MediaPlaylist
    {
        try media(
            Self.head + "#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n" + more
                + numbers.map { (extra[$0].map { $0 + "\n" } ?? "") + "#EXTINF:4,\n\($0).ts\n" }.joined())
    }

    private func date(_ seconds: Int) -> String {
        let padded = String(seconds % 60 + 100).dropFirst()
        return "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:\(String(seconds / 60 + 100).dropFirst()):\(padded)Z"
    }

    @Test("positions of a complete playlist begin at zero, and each time has its segment")
    func onDemand() throws {
        let timeline = PlaylistTimeline(try playlist(0..<3, more: "#EXT-X-ENDLIST\n"))
        #expect(timeline.duration == seconds(12) && timeline.seekableRange() == seconds(0)...seconds(12))
        #expect(timeline.segment(at: seconds(0))?.number == 0 && timeline.segment(at: seconds(3.999))?.number == 0)
        #expect(timeline.segment(at: seconds(4))?.number == 1 && timeline.segment(at: seconds(11.9))?.number == 2)
        #expect(timeline.segment(at: seconds(12)) == nil && timeline.segment(at: seconds(-1)) == nil)
        #expect(timeline.startPosition() == seconds(0))
        #expect(timeline.wallTime(at: seconds(1)) == nil && timeline.position(of: wall(1)) == nil)
    }

    @Test("a live window starts three target durations before its end, or at the server's hold-back")
    func holdBack() throws {
        let timeline = PlaylistTimeline(try playlist(0..<10))
        #expect(timeline.duration == nil)
        #expect(timeline.seekableRange() == seconds(0)...seconds(28))
        #expect(timeline.startPosition() == seconds(28))
        let stated = PlaylistTimeline(try playlist(0..<10, more: "#EXT-X-SERVER-CONTROL:HOLD-BACK=18\n"))
        #expect(stated.seekableRange().upperBound == seconds(22))
        // Less than a segment is impossible.
        let little = PlaylistTimeline(try playlist(0..<10, more: "#EXT-X-SERVER-CONTROL:HOLD-BACK=0\n"))
        #expect(little.seekableRange().upperBound == seconds(36))
        // A window that is shorter than the hold-back has one position.
        let short = PlaylistTimeline(try playlist(5..<7))
        #expect(short.seekableRange() == seconds(0)...seconds(0))
    }

    @Test("a start point counts from the beginning or the end, within the playable range")
    func startPoint() throws {
        func start(_ offset: String, live: Bool) throws -> TimeSpan {
            let more = "#EXT-X-START:TIME-OFFSET=\(offset)\n" + (live ? "" : "#EXT-X-ENDLIST\n")
            return PlaylistTimeline(try playlist(0..<10, more: more)).startPosition()
        }
        #expect(try start("5", live: false) == seconds(5) && start("-5", live: false) == seconds(35))
        #expect(try start("500", live: false) == seconds(40) && start("-500", live: false) == seconds(0))
        #expect(try start("-20", live: true) == seconds(20) && start("-1", live: true) == seconds(28))
        let timeline = PlaylistTimeline(try playlist(0..<10, more: "#EXT-X-ENDLIST\n"))
        #expect(timeline.startPosition(default: StartPoint(offset: seconds(7))) == seconds(7))
    }

    @Test("wall time is computed forwards and backwards from a date, not across a discontinuity")
    func wallTime() throws {
        let timeline = PlaylistTimeline(
            try playlist(0..<8, [1: date(100), 3: "#EXT-X-DISCONTINUITY", 5: date(400), 7: "#EXT-X-DISCONTINUITY"]))
        let times = timeline.segments.map(\.wallTime)
        #expect(times == [wall(96), wall(100), wall(104), wall(392), wall(396), wall(400), wall(404), nil])
        #expect(timeline.wallTime(at: seconds(9.5)) == wall(105.5))
        #expect(timeline.wallTime(at: seconds(30)) == nil)
        #expect(timeline.position(of: wall(105.5)) == seconds(9.5))
        #expect(timeline.position(of: wall(401)) == seconds(21))
        // A time that was not recorded leads to the next recorded one.
        #expect(timeline.position(of: wall(200)) == seconds(12))
        #expect(timeline.position(of: wall(0)) == seconds(0))
        #expect(timeline.position(of: wall(9_999)) == timeline.end)
    }

    @Test("a date that left the window is remembered")
    func lostDate() throws {
        var timeline = PlaylistTimeline(try playlist(0..<5, [0: date(100)]))
        for first in 1..<50 { #expect(timeline.update(to: try playlist(first..<first + 5)) == .advanced) }
        #expect(timeline.start == seconds(49 * 4))
        #expect(timeline.wallTime(at: seconds(200)) == wall(300))
        // Segments that left the window may still be on the screen.
        #expect(timeline.wallTime(at: seconds(190)) == wall(290))
    }

    @Test("a segment that left the window keeps its date after a jump of the clock")
    func evictedDate() throws {
        var timeline = PlaylistTimeline(try playlist(0..<5, [0: date(100), 3: "#EXT-X-DISCONTINUITY\n" + date(500)]))
        _ = timeline.update(to: try playlist(3..<8, [3: "#EXT-X-DISCONTINUITY\n" + date(500)]))
        #expect(timeline.wallTime(at: seconds(9)) == wall(109))
        #expect(timeline.wallTime(at: seconds(13)) == wall(501))
    }

    @Test("a window that advanced by more than its length leaves a gap of the missed duration")
    func gap() throws {
        var timeline = PlaylistTimeline(try playlist(0..<5))
        #expect(timeline.update(to: try playlist(8..<13)) == .gap(missing: 3))
        #expect(timeline.start == seconds(32) && timeline.epoch == 0)
        var dated = PlaylistTimeline(try playlist(0..<5, [0: date(100)]))
        // By the clock it was 10 s, and not 12.
        #expect(dated.update(to: try playlist(8..<13, [9: date(134)])) == .gap(missing: 3))
        #expect(dated.start == seconds(30))
        var next = PlaylistTimeline(try playlist(0..<5))
        #expect(next.update(to: try playlist(5..<10)) == .advanced)
        #expect(next.start == seconds(20))
    }

    @Test("a window that starts earlier than before extends backwards")
    func backwards() throws {
        var timeline = PlaylistTimeline(try playlist(5..<9))
        #expect(timeline.update(to: try playlist(3..<10)) == .advanced)
        #expect(timeline.start == seconds(-8) && timeline.segment(number: 5)?.start == .zero)
        #expect(timeline.end == seconds(20))
    }

    @Test("an older playlist from a cache changes nothing")
    func stale() throws {
        var timeline = PlaylistTimeline(try playlist(3..<9))
        let known = timeline.segments
        #expect(timeline.update(to: try playlist(2..<8)) == .stale)
        #expect(timeline.update(to: try playlist(3..<9)) == .unchanged)
        #expect(timeline.segments == known && timeline.playlist.mediaSequence == 3)
        var dated = PlaylistTimeline(try playlist(10..<14, [10: date(140)]))
        #expect(dated.update(to: try playlist(0..<4, [0: date(100)])) == .stale)
    }

    @Test("restarted numbers are another presentation, which follows the first (hls.js 1489)")
    func restarted() throws {
        var timeline = PlaylistTimeline(try playlist(100..<105))
        #expect(timeline.update(to: try playlist(0..<3)) == .restarted)
        #expect(timeline.epoch == 1 && timeline.start == seconds(20) && timeline.segments.count == 3)
        var dated = PlaylistTimeline(try playlist(100..<105, [100: date(100)]))
        #expect(dated.update(to: try playlist(0..<3, [0: date(150)])) == .restarted)
        #expect(dated.start == seconds(50))
        // The numbers are the same, and everything else differs.
        var same = PlaylistTimeline(try playlist(0..<5, [0: date(100)]))
        let other = try media(Self.head + date(300) + "\n#EXTINF:2,\nx.ts\n#EXTINF:2,\ny.ts\n")
        #expect(same.update(to: other) == .restarted)
        #expect(same.epoch == 1)
    }

    @Test("tokens that change with each reload do not make other segments")
    func tokens() throws {
        func playlist(_ token: String) throws -> MediaPlaylist {
            try media(Self.head + (0..<4).map { "#EXTINF:4,\nhttps://cdn\(token)/\($0).ts?t=\(token)\n" }.joined())
        }
        var timeline = PlaylistTimeline(try playlist("a"))
        #expect(timeline.update(to: try playlist("b")) == .advanced)
        #expect(timeline.epoch == 0 && timeline.playlist.segments[0].uri?.hasSuffix("b") == true)
    }

    @Test("a discontinuity sequence that the server does not increase moves nothing (hls.js 693)")
    func forgottenSequence() throws {
        var timeline = PlaylistTimeline(try playlist(0..<5, [0: date(100), 2: "#EXT-X-DISCONTINUITY\n" + date(500)]))
        // The tag has left the window, and the header still has 0.
        _ = timeline.update(to: try playlist(3..<8))
        #expect(timeline.segments.map(\.wallTime) == (0..<5).map { wall(Double(504 + 4 * $0)) })
        #expect(timeline.start == seconds(12))
    }

    @Test("parts have their places, and who plays them comes closer to the end")
    func parts() throws {
        let timeline = PlaylistTimeline(
            try media(
                """
                #EXT-X-TARGETDURATION:4
                #EXT-X-PART-INF:PART-TARGET=1
                #EXT-X-SERVER-CONTROL:PART-HOLD-BACK=3
                #EXTINF:4,
                0
                #EXTINF:4,
                1
                #EXT-X-PART:DURATION=1,URI="2.0",INDEPENDENT=YES
                #EXT-X-PART:DURATION=1,URI="2.1"
                #EXT-X-PART:DURATION=1,URI="2.2",INDEPENDENT=YES
                #EXT-X-PART:DURATION=0.5,URI="2.3",INDEPENDENT=YES,GAP=YES
                """))
        #expect(timeline.end == seconds(11.5) && timeline.liveEdge(usingParts: false) == seconds(8))
        #expect(timeline.seekableRange(usingParts: true).upperBound == seconds(8.5))
        #expect(timeline.parts(of: 2).map(\.start) == [seconds(8), seconds(9), seconds(10), seconds(11)])
        #expect(timeline.independentPart(for: seconds(9.5))?.index == 0)
        #expect(timeline.independentPart(for: seconds(10))?.index == 2)
        #expect(timeline.independentPart(for: seconds(11.2))?.index == 2)
        #expect(timeline.independentPart(for: seconds(5)) == nil)
    }

    @Test("another rendition's window is aligned by dates, even with other numbers")
    func aligned() throws {
        var timeline = PlaylistTimeline(try playlist(0..<5, [0: date(100)]))
        for first in 1...20 { _ = timeline.update(to: try playlist(first..<first + 5)) }
        let other = PlaylistTimeline(try playlist(700..<706, [702: date(190)]), alignedWith: timeline)
        #expect(other.wallTime(at: seconds(90)) == timeline.wallTime(at: seconds(90)))
        #expect(other.start == seconds(82))
        // Without dates it is aligned by numbers, and without common numbers by the end.
        let plain = PlaylistTimeline(try playlist(0..<8), from: seconds(100))
        #expect(PlaylistTimeline(try playlist(2..<9), alignedWith: plain).start == seconds(108))
        #expect(PlaylistTimeline(try playlist(50..<53), alignedWith: plain).end == plain.end)
        // Complete playlists have the same start.
        let film = PlaylistTimeline(try playlist(0..<8, more: "#EXT-X-ENDLIST\n"))
        let audio = try media(Self.head + "#EXTINF:3.5,\na\n#EXTINF:3.5,\nb\n#EXT-X-ENDLIST\n")
        #expect(PlaylistTimeline(audio, alignedWith: film).start == .zero)
    }

    @Test("hostile numbers and durations result in another epoch without a trap")
    func harm() throws {
        func far(_ number: Int64) throws -> MediaPlaylist {
            try media(
                "#EXT-X-TARGETDURATION:86400\n#EXT-X-MEDIA-SEQUENCE:\(number)\n"
                    + String(repeating: "#EXTINF:86400,\na\n", count: 3_600))
        }
        var timeline = PlaylistTimeline(try far(0))
        #expect(timeline.update(to: try far(1 << 60)) == .restarted)
        for step in 1...20 { _ = timeline.update(to: try far((1 << 60) + 3_600 * Int64(step))) }
        #expect(timeline.end < seconds(1e9) && timeline.epoch > 1)
        for extreme in [Int64.min, .max] {
            #expect(timeline.position(of: WallTime(nanosecondsSinceEpoch: extreme)) == nil)
        }
    }
}

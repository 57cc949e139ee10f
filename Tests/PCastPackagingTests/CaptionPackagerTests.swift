import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("Captions are packaged as WebVTT")
struct CaptionPackagerTests {
    private static let name = StreamPackager.captionsName

    private static func live() throws -> LiveRun {
        var run = LiveRun([StreamPackagerTests.large, StreamPackagerTests.audio])
        run.parameterSets["video0"] = try MediaSamples.parameterSets(Dimensions(width: 640, height: 360))
        return run
    }

    /// Returns the cues of a document of the captions.
    private static func cues(_ uri: String?, in run: LiveRun) throws -> [WebVTTSegment.Cue] {
        let uri = try #require(uri)
        let bytes = try #require(run.bytes(uri, name))
        let document = try #require(WebVTTSegment(bytes))
        #expect(document.clockOffset == .zero)
        return document.cues
    }

    /// Returns the media time of a time since the start. Media time zero is ten seconds before the first frame.
    private static func media(_ time: TimeSpan) -> TimeSpan { time + .seconds(10 as Int64) }

    @Test("each segment and part has the cues that are shown during it, with media times, and the rules hold")
    func cues() throws {
        var run = try Self.live()
        run.run(.seconds(5 as Int64))
        #expect(run.packager.mediaPlaylist(of: Self.name) == nil)
        run.caption("first", at: .milliseconds(7_500), for: .milliseconds(4_200))
        run.caption("second", at: .seconds(12 as Int64), for: .seconds(1))
        run.run(.seconds(45 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.playlists[Self.name])
        #expect(playlist.targetDuration == run.playlists["video0"]?.targetDuration)
        #expect(playlist.mediaSequence > 0 && playlist.segments.count >= 6)
        #expect(playlist.segments.allSatisfy { $0.initialization == nil && $0.uri?.hasSuffix(".vtt") == true })
        // The cues have left the window, but its segments are documents.
        for segment in playlist.segments { #expect(try Self.cues(segment.uri, in: run).isEmpty) }
        #expect(run.packager.multivariantPlaylist?.renditions(.subtitles, in: Self.name).count == 1)
        #expect(run.packager.multivariantPlaylist?.variants.allSatisfy { $0.subtitles == Self.name } == true)
    }

    @Test("cues are in all segments and parts that they overlap, and in no other")
    func overlap() throws {
        var run = try Self.live()
        run.run(.seconds(5 as Int64))
        let (begin, end) = (TimeSpan.milliseconds(9_517), TimeSpan.milliseconds(13_717))
        run.caption("a <b> & “c”\nsecond line", at: begin, for: .milliseconds(4_200))
        run.run(.seconds(11 as Int64))
        let playlist = try #require(run.playlists[Self.name])
        let expected = WebVTTSegment.Cue(
            start: Self.media(begin), end: Self.media(end), text: "a <b> & “c”\nsecond line")
        var hits = (segments: 0, parts: 0)
        for segment in playlist.segments + (playlist.openSegment.map { [$0] } ?? []) {
            var start = try #require(segment.programDateTime) - LiveRun.start
            if segment.uri != nil {
                let isShown = start < end && begin < start + segment.duration
                #expect(try Self.cues(segment.uri, in: run) == (isShown ? [expected] : []), "\(start)")
                hits.segments += isShown ? 1 : 0
            }
            for part in segment.parts {
                #expect(part.isIndependent && !part.isGap)
                let isShown = start < end && begin < start + part.duration
                #expect(try Self.cues(part.uri, in: run) == (isShown ? [expected] : []), "\(start)")
                hits.parts += isShown ? 1 : 0
                start = start + part.duration
            }
        }
        #expect(hits.segments >= 3 && hits.parts >= 10)
        #expect(run.violations == [])
    }

    @Test("a cue that arrives late is in the next part and its segment, with its own times")
    func late() throws {
        var run = try Self.live()
        run.caption("early", at: .zero, for: .milliseconds(100))
        run.run(.milliseconds(9_300))
        run.caption("late", at: .seconds(6 as Int64), for: .seconds(1))
        run.run(.milliseconds(400))
        let playlist = try #require(run.playlists[Self.name])
        let expected = WebVTTSegment.Cue(
            start: Self.media(.seconds(6 as Int64)), end: Self.media(.seconds(7 as Int64)), text: "late")
        let open = try #require(playlist.openSegment)
        let documents = try open.parts.map { try Self.cues($0.uri, in: run) }
        #expect(documents.filter { $0 == [expected] }.count == 1)
        run.run(.seconds(3 as Int64))
        let segment = try #require(run.playlists[Self.name]?.segment(open.number))
        #expect(try Self.cues(segment.uri, in: run) == [expected])
        #expect(run.violations == [])
    }

    @Test("captions continue when a publisher reconnects, when media is absent, and without their leader")
    func discontinuities() throws {
        var run = try Self.live()
        run.caption("cue", at: .seconds(1 as Int64), for: .seconds(60))
        run.run(.seconds(9 as Int64))
        run.run(.seconds(5 as Int64), without: ["video0", "audio0"])
        run.timestampOffset = .seconds(7 as Int64)
        run.packager.restart()
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        let segments = try #require(run.playlists[Self.name]).segments
        #expect(segments.filter(\.isDiscontinuity).count == 1)
        #expect(segments.allSatisfy { !$0.isGap })
        let before = try #require(run.playlists[Self.name]?.nextNumber)
        run.packager.remove("video0")
        run.run(.seconds(7 as Int64))
        let after = try #require(run.packager.mediaPlaylist(of: Self.name))
        #expect(after.nextNumber >= before + 3)
        #expect(MediaPlaylistRules.check(text: after.text) == [])
        run.packager.finish()
        let last = try #require(run.packager.mediaPlaylist(of: Self.name))
        #expect(last.isComplete && last.openSegment == nil)
        #expect(try Self.cues(last.segments.last?.uri, in: run).map(\.text) == ["cue"])
    }

    @Test("memory is bounded, whatever cues a publisher sends")
    func bounds() throws {
        var run = try Self.live()
        run.checkInterval = 1_000
        let text = String(repeating: "x", count: CaptionCue.maximumTextSize)
        var largest = 0
        for second in 0..<60 as Range<Int64> {
            for number in 0..<16 as Range<Int64> {
                run.caption("\(number)" + text.dropLast(2), at: .seconds(second), for: .seconds(600))
            }
            run.run(.seconds(1 as Int64))
            let playlist = run.packager.mediaPlaylist(of: Self.name)
            for part in playlist?.openSegment?.parts ?? [] {
                largest = max(largest, run.bytes(part.uri, Self.name)?.count ?? 0)
            }
        }
        #expect(largest > 0 && largest <= 16 * (CaptionCue.maximumTextSize + 64) + 128)
        #expect(run.packager.heldSize < 16 << 20)
    }

    @Test("the files of captions have their own names")
    func names() {
        #expect(PackagedFile(name: "i1-4.vtt", instance: "i1", isText: true) == .segment(4))
        #expect(PackagedFile(name: "i1-4.2.vtt", instance: "i1", isText: true) == .part(4, 2))
        for (name, isText) in [("i1-4.m4s", true), ("i1-init0.mp4", true), ("i1-4.vtt", false), ("i2-4.vtt", true)] {
            #expect(PackagedFile(name: name, instance: "i1", isText: isText) == nil, "\(name)")
        }
    }
}

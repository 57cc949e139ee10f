import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("Viewers can rewind a live stream, and its parts can be recorded")
struct RewindTests {
    private static func live(rewind: TimeSpan) throws -> LiveRun {
        var run = LiveRun([StreamPackagerTests.large, StreamPackagerTests.small, StreamPackagerTests.audio]) {
            $0.window = rewind
        }
        run.parameterSets["video0"] = try MediaSamples.parameterSets(Dimensions(width: 640, height: 360))
        run.parameterSets["video1"] = try MediaSamples.parameterSets(MediaSamples.size)
        return run
    }

    private static func duration(_ playlist: MediaPlaylist) -> TimeSpan {
        playlist.segments.reduce(.zero) { $0 + $1.duration }
    }

    @Test("playlists list the window, every segment in it exists, and updates of the playlist are short")
    func window() throws {
        var run = try Self.live(rewind: .seconds(600 as Int64))
        run.checkInterval = 97
        run.run(.seconds(700 as Int64))
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect(playlist.mediaSequence > 0)
            #expect((600.0...604).contains(Self.duration(playlist).seconds), "\(name)")
            for segment in playlist.segments { #expect(run.file(of: segment, in: name) != nil, "\(segment.number)") }
            let late = playlist.segments.dropLast(5)
            #expect(late.allSatisfy { $0.parts.isEmpty }, "parts are listed near the live edge only")
            let update = playlist.deltaUpdate
            #expect(update.contains("#EXT-X-SKIP:") && update.utf8.count < playlist.text.utf8.count / 5)
        }
    }

    @Test("an absence of media within the window is gaps or a new beginning, and the media before it remain")
    func absence() throws {
        var run = try Self.live(rewind: .seconds(600 as Int64))
        run.checkInterval = 31
        run.run(.seconds(60 as Int64))
        for name in ["video0", "video1", "audio0"] { run.skip(name, by: .seconds(90 as Int64)) }
        run.run(.seconds(150 as Int64))
        #expect(run.violations == [])
        let playlist = try #require(run.packager.mediaPlaylist(of: "video0"))
        #expect(playlist.mediaSequence == 0 && playlist.segments.contains(where: \.isDiscontinuity))
        #expect(playlist.segments.count(where: \.isGap) < 20)
    }

    @Test("a limit of bytes shortens all renditions from the same beginning, to six segments at least")
    func limit() throws {
        var run = try Self.live(rewind: .seconds(600 as Int64))
        run.checkInterval = 31
        run.run(.seconds(240 as Int64))
        let before = try #require(run.packager.mediaPlaylist(of: "video0"))
        run.packager.limitWindow(to: run.packager.windowSize / 2)
        let updates = run.packager.takeUpdates()
        #expect(updates.changed == ["video0", "video1", "audio0"])
        var starts: [WallTime] = []
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect((100.0...140).contains(Self.duration(playlist).seconds), "\(name)")
            starts.append(try #require(playlist.segments.first?.programDateTime))
        }
        let (first, last) = (try #require(starts.min()), try #require(starts.max()))
        #expect(last - first <= .seconds(3 as Int64))
        let after = try #require(run.packager.mediaPlaylist(of: "video0"))
        #expect(MediaPlaylistRules.check(after, after: before) == [])
        run.packager.limitWindow(to: 0)
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect(playlist.segments.count == 6, "\(name)")
            #expect(Self.duration(playlist) >= playlist.targetDuration * 3, "\(name)")
        }
        run.run(.seconds(20 as Int64))
        #expect(run.violations == [])
    }

    @Test("parts are taken once and in order, and those of a segment are the segment")
    func taking() throws {
        var run = try Self.live(rewind: .seconds(30 as Int64))
        run.checkInterval = 31
        var taken: [String: [PublishedPart]] = [:]
        for _ in 0..<40 {
            run.run(.milliseconds(500))
            for part in run.packager.takeParts() { taken[part.rendition, default: []].append(part) }
        }
        run.packager.finish()
        for part in run.packager.takeParts() { taken[part.rendition, default: []].append(part) }
        #expect(run.packager.takeParts().isEmpty)
        #expect(taken.count == 3)
        for (name, parts) in taken {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            let segments = Dictionary(grouping: parts, by: \.segment)
            #expect(segments.keys.sorted() == playlist.segments.map(\.number))
            for segment in playlist.segments {
                let own = try #require(segments[segment.number])
                #expect(own.map(\.index) == Array(own.indices))
                #expect(own.flatMap(\.part.bytes) == run.packager.file(.segment(segment.number), of: name))
                #expect(own.allSatisfy { $0.segmentStart == segment.programDateTime })
                #expect(own[0].part.isIndependent && (name == "audio0") == (own[0].format.codecString == "opus"))
            }
        }
    }
}

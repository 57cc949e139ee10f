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

    /// A file of a window in memory.
    private static func stored(_ segment: UnstoredSegment, belongsToWindow: Bool = true) -> StoredMedia {
        let bytes = segment.fragments.flatMap { $0 }
        return StoredMedia(size: bytes.count, belongsToWindow: belongsToWindow) { bytes }
    }

    @Test("segments that are stored leave memory after half a minute, and do not change", arguments: [true, false])
    func storage(isEncrypted: Bool) throws {
        var run = try Self.live(rewind: .seconds(300 as Int64))
        if isEncrypted {
            run = LiveRun([StreamPackagerTests.large, StreamPackagerTests.small, StreamPackagerTests.audio]) {
                $0.window = .seconds(300 as Int64)
                $0.encryption = PackagerEncryption(
                    segmentsPerKey: 4, makeKey: { [UInt8](repeating: 7, count: 16) },
                    encrypt: { bytes, key, vector in bytes.map { $0 ^ key[0] } + vector })
            }
            run.parameterSets["video0"] = try MediaSamples.parameterSets(Dimensions(width: 640, height: 360))
            run.parameterSets["video1"] = try MediaSamples.parameterSets(MediaSamples.size)
        }
        run.checkInterval = 31
        var delivered: [String: [UInt8]] = [:]
        var taken: [String: [Int64]] = [:]
        for _ in 0..<40 {
            run.run(.seconds(10 as Int64))
            for segment in run.packager.takeUnstored(count: 100) {
                let key = "\(segment.rendition) \(segment.number)"
                delivered[key] = run.packager.file(.segment(segment.number), of: segment.rendition)
                taken[segment.rendition, default: []].append(segment.number)
                run.packager.setStored(Self.stored(segment), for: segment.number, of: segment.rendition)
                #expect(run.packager.file(.segment(segment.number), of: segment.rendition) == nil)
                #expect(run.packager.file(.part(segment.number, 0), of: segment.rendition) == nil)
            }
        }
        #expect(run.violations == [])
        for name in ["video0", "video1", "audio0"] {
            let numbers = try #require(taken[name])
            #expect(numbers == Array(0..<Int64(numbers.count)), "each segment is taken once")
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect((300.0...304).contains(Self.duration(playlist).seconds))
            var inMemory = TimeSpan.zero
            for segment in playlist.segments {
                if let file = run.packager.storedFile(.segment(segment.number), of: name) {
                    #expect(try file.read() == delivered["\(name) \(segment.number)"])
                    #expect(segment.parts.isEmpty && !segment.isGap)
                } else {
                    inMemory += segment.duration
                    #expect(run.packager.file(.segment(segment.number), of: name) != nil)
                }
            }
            #expect((30.0...44).contains(inMemory.seconds), "\(name) has \(inMemory) in memory")
        }
        #expect(run.packager.storedSize + run.packager.memorySize == run.packager.windowSize)
        #expect(run.packager.memorySize < run.packager.windowSize / 5)
        run.packager.limitWindow(to: .max, storedSize: run.packager.storedSize / 2)
        for name in ["video0", "video1", "audio0"] {
            let playlist = try #require(run.packager.mediaPlaylist(of: name))
            #expect((130.0...200).contains(Self.duration(playlist).seconds), "the limit of files shortens the window")
        }
    }

    @Test("segments that could not be stored remain, are returned again, and those of a recording are not returned")
    func unstored() throws {
        var run = try Self.live(rewind: .seconds(300 as Int64))
        run.checkInterval = 97
        run.run(.seconds(60 as Int64))
        let failed = run.packager.takeUnstored(count: 2)
        #expect(failed.map(\.number) == [0, 1, 0, 1, 0, 1])
        run.packager.setUnstored(failed)
        let again = run.packager.takeUnstored(count: 1)
        #expect(again.map(\.number) == [0, 0, 0])
        for segment in again { #expect(run.packager.file(.segment(0), of: segment.rendition) != nil) }
        // A recording stores segments while they are new, and others are late.
        let recorded = try #require(run.packager.file(.segment(25), of: "video0"))
        let contents = try #require(run.packager.contents(of: 25, in: "video0"))
        #expect(contents.size == recorded.count && contents.parts > 1)
        run.packager.setStored(
            StoredMedia(size: recorded.count - 1, belongsToWindow: false) { [] }, for: 25, of: "video0")
        run.packager.setStored(
            StoredMedia(size: recorded.count, belongsToWindow: false) { recorded }, for: 25, of: "video0")
        #expect(run.packager.file(.segment(25), of: "video0") == recorded, "it remains in memory while it is new")
        #expect(run.packager.takeUnstored(count: 100, delay: .seconds(3_600 as Int64)).isEmpty)
        run.run(.seconds(60 as Int64))
        let rest = run.packager.takeUnstored(count: 100).filter { $0.rendition == "video0" }.map(\.number)
        #expect(rest.contains(24) && rest.contains(26) && !rest.contains(25))
        let file = try #require(run.packager.storedFile(.segment(25), of: "video0"))
        #expect(try file.read() == recorded)
        #expect(run.packager.storedSize == 0, "files of the recording do not count")
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

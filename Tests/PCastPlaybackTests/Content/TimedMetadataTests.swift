import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Timed metadata in media", .enabled(if: Program.hasFFmpeg))
struct TimedMetadataTests {
    private static let goal = StampedVideo.captureTime + .milliseconds(2_500)
    private static let tag = TimedTags.tag("", "{\"ut\":\(goal.millisecondsSinceEpoch)}")

    private func read(_ folder: TemporaryFolder) async throws -> (metadata: [TimedMetadata], overview: ContentOverview?)
    {
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<100), "the frames are unchanged")
        return (items.metadata, content.overview)
    }

    @Test("event messages of fragments are reported in time, as tags if they contain any")
    func messages() async throws {
        let folder = try TemporaryFolder()
        _ = try HLSFilm(StampedVideo(seconds: 4), segmentSeconds: 2, in: folder, fragmented: true)
        let messages =
            TimedTags.message("urn:score", at: .milliseconds(1_500), isRelative: true, Array("1:0".utf8))
            + TimedTags.message(
                "https://aomedia.org/emsg/ID3", at: .milliseconds(2_500), isRelative: false, Self.tag)
        try folder.write(messages + (try folder.read("s1.m4s")), to: "s1.m4s")
        let (metadata, overview) = try await read(folder)
        let score = try #require(metadata.first { $0.source == .emsg })
        #expect(score.name == "urn:score" && score.value == "1:0" && score.identifier == "7")
        #expect(TimeSpan(score.position - .milliseconds(3_500)).magnitude < .milliseconds(100), "\(score.position)")
        let tag = try #require(metadata.first { $0.source == .id3 })
        #expect(TimeSpan(tag.position - .milliseconds(2_500)).magnitude < .milliseconds(150), "\(tag.position)")
        #expect(overview?.anchors.contains { $0.wallTime == Self.goal } == true)
    }

    /// The positions include two tags in one frame, one before the first frame of its segment, and one after the last
    /// frame.
    private static let positions = [0, 0.5, 1.9, 2.02, 2.02, 2.5, 3.3, 4.02]

    @Test("tags in MPEG-TS segments are reported in time and once, also after an interruption")
    func segments() async throws {
        let folder = try TemporaryFolder()
        let tagged = TaggedFilm(StampedVideo(seconds: 4), at: Self.positions, in: folder)
        try tagged.makeSegments(ofSeconds: 2)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        try await check(tagged, origin.content("/s.m3u8"))
    }

    @Test("tags in an MPEG-TS file are reported in the same way")
    func file() async throws {
        let folder = try TemporaryFolder()
        let tagged = TaggedFilm(StampedVideo(seconds: 4), at: Self.positions, in: folder)
        try tagged.makeFile()
        try await check(tagged, FileContent("\(folder.path)/film.ts"))
    }

    @Test(
        "an interrupted wait for a slow server loses and repeats no metadata", .timeLimit(.minutes(5)))
    func interruptedFile() async throws {
        let folder = try TemporaryFolder()
        let tagged = TaggedFilm(StampedVideo(seconds: 4), at: Self.positions, in: folder)
        try tagged.makeFile()
        let origin = try TestOrigin { request in
            (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0, bytesPerSecond: 400_000) }
        }
        defer { origin.stop() }
        let content = ThreadContent(FileContent(origin.uri("/film.ts")))
        defer { content.close() }
        _ = try await content.open()
        var items: [ContentItem] = []
        var next = 20
        while true {
            if items.count >= next {
                next += 7
                // The interruption occurs during the wait or shortly before or after it: within a frame, between two,
                // or at the start of one.
                Task.detached { content.content.interrupt() }
            }
            do {
                guard let item = try await content.read() else { break }
                items.append(item)
            } catch PlaybackError.interrupted {}
        }
        #expect(items.stamps == Array(0..<tagged.film.count))
        #expect(items.metadata.map(\.value) == tagged.values)
    }

    private func check(_ tagged: TaggedFilm, _ content: any PlaybackContent) async throws {
        let content = ThreadContent(content)
        defer { content.close() }
        _ = try await content.open()
        var items: [ContentItem] = []
        var calls = 0
        while true {
            calls += 1
            if calls % 5 == 0 { content.content.interrupt() }
            do {
                guard let item = try await content.read() else { break }
                items.append(item)
            } catch PlaybackError.interrupted {}
        }
        #expect(items.stamps == Array(0..<tagged.film.count))
        #expect(items.metadata.map(\.value) == tagged.values)
        #expect(items.metadata.allSatisfy { $0.source == .id3 && $0.identifier == "TXXX" })
        let start = try #require(items.frameTimes.first)
        for (metadata, tag) in zip(items.metadata, tagged.tags) {
            #expect(
                (TimeSpan(metadata.position) - start - tag.position).magnitude <= .milliseconds(1),
                "\(metadata.position)")
        }
        let anchors = content.overview?.anchors ?? []
        #expect(anchors.count == Set(Self.positions).count && anchors.allSatisfy { $0.source == .timedMetadata })
        #expect(anchors.first?.wallTime == StampedVideo.captureTime)

        // After a seek, all later tags are reported once, and no earlier ones. Some seeks go back, and some are short
        // enough for a file to be read on.
        for (position, length) in [(1.0, 0.3), (1.5, 0.1), (1.8, 0.1), (2.1, 0.2), (2.4, 9), (0.4, 0.3), (2.02, 9)] {
            let moment = start + TimeSpan(seconds: position)
            let end = moment + TimeSpan(seconds: length)
            _ = try await content.seek(to: moment)
            let received = try await content.readItems(to: end).metadata.map(\.value)
            let wanted = zip(tagged.tags, tagged.values).filter { $0.0.position >= TimeSpan(seconds: position) }.map(
                \.1)
            let least = zip(tagged.tags, tagged.values).filter { tag, _ in
                tag.position >= TimeSpan(seconds: position) && tag.position < TimeSpan(seconds: position + length)
            }
            #expect(wanted.starts(with: received) && received.count >= least.count, "from \(position): \(received)")
        }
    }
}

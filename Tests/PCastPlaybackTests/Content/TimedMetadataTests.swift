import PCastMedia
import Testing

@testable import PCastPlayback

@Suite("What media say of their moments", .enabled(if: Program.hasFFmpeg))
struct TimedMetadataTests {
    private static let goal = StampedFilm.captureTime + .milliseconds(2_500)
    private static let tag = TimedTags.tag("", "{\"ut\":\(goal.millisecondsSinceEpoch)}")

    private func read(_ folder: TemporaryFolder) async throws -> (metadata: [TimedMetadata], overview: ContentOverview?)
    {
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(HLSContent(origin.uri("/s.m3u8")))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<100), "the pictures are what they were")
        return (items.metadata, content.overview)
    }

    @Test("event messages of fragments are told at their moments, as tags where they hold some")
    func messages() async throws {
        let folder = try TemporaryFolder()
        _ = try HLSFilm(StampedFilm(seconds: 4), segmentSeconds: 2, in: folder, fragmented: true)
        let messages =
            TimedTags.message("urn:score", at: .milliseconds(1_500), isRelative: true, Array("1:0".utf8))
            + TimedTags.message(
                "https://aomedia.org/emsg/ID3", at: .milliseconds(2_500), isRelative: false, Self.tag)
        try folder.write(messages + (try folder.read("s1.m4s")), to: "s1.m4s")
        let (metadata, overview) = try await read(folder)
        let score = try #require(metadata.first { $0.source == .emsg })
        #expect(score.name == "urn:score" && score.value == "1:0" && score.identifier == "7")
        #expect((score.position - .milliseconds(3_500)).magnitude < .milliseconds(100), "\(score.position)")
        let tag = try #require(metadata.first { $0.source == .id3 })
        #expect((tag.position - .milliseconds(2_500)).magnitude < .milliseconds(150), "\(tag.position)")
        #expect(overview?.anchors.contains { $0.wallTime == Self.goal } == true)
    }
}

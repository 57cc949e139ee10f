import PCastCore
import PCastDatabase
import PCastHLS
import Testing

@testable import PCastRecording

@Suite("A recording is played by its playlists")
struct RecordingPresentationTests {
    private static let start = RecordedAudio.start

    private static func rendition(_ name: String, epoch: Int = 0, _ codec: String) -> RecordedRendition {
        let isVideo = codec.hasPrefix("avc1")
        return RecordedRendition(
            stream: RecordedAudio.stream, epoch: epoch, name: name, instance: "i\(epoch)", codec: codec,
            dimensions: isVideo ? Dimensions(width: 1_280, height: 720) : nil, frameRate: isVideo ? 30 : nil,
            channels: isVideo ? nil : 2)
    }

    /// Returns segments of two seconds that begin at a time after the start.
    private static func segments(
        _ name: String, epoch: Int = 0, _ numbers: Range<Int64>, from time: TimeSpan = .zero,
        discontinuity: Int64 = 0, without missing: Set<Int64> = []
    ) -> [SegmentRecord] {
        numbers.filter { !missing.contains($0) }.map { number in
            SegmentRecord(
                stream: RecordedAudio.stream, epoch: epoch, rendition: name, number: number, file: Int(number / 10),
                offset: 1_000 * (number % 10), length: 250_000,
                start: start + time + .seconds(2 * (number - numbers.lowerBound)), duration: .seconds(2 as Int64),
                initialization: 0, discontinuity: discontinuity, isGap: false)
        }
    }

    private static let renditions = [rendition("video0", "avc1.64001f"), rendition("opus", "opus")]

    /// Returns the media playlists of a presentation by their URIs, after checking everything against the rules.
    private static func check(_ presentation: RecordingPresentation) throws -> [String: MediaPlaylist] {
        let multivariant = try #require(presentation.multivariantPlaylist)
        let uris = Set(multivariant.variants.map(\.uri) + multivariant.renditions.compactMap(\.uri))
        var media: [String: MediaPlaylist] = [:]
        for uri in uris {
            let playlist = try #require(presentation.mediaPlaylist(String(uri.dropLast(".m3u8".count))))
            #expect(MediaPlaylistRules.check(text: playlist.text) == [])
            #expect(try MediaPlaylist(playlist.text) == playlist)
            media[uri] = playlist
        }
        #expect(PresentationRules.check(try MultivariantPlaylist(multivariant.text), media: media) == [])
        return media
    }

    @Test("an ended recording has on-demand playlists that list all segments, with the addresses of the live stream")
    func onDemand() throws {
        let presentation = RecordingPresentation(
            Self.renditions, Self.segments("video0", 0..<30) + Self.segments("opus", 0..<30), isComplete: true)
        let media = try Self.check(presentation)
        #expect(media.keys.sorted() == ["vod-opus.m3u8", "vod-video0.m3u8"])
        let video = try #require(media["vod-video0.m3u8"])
        #expect(video.kind == .onDemand && video.isComplete && video.targetDuration == .seconds(2 as Int64))
        #expect(video.segments.map(\.uri) == (0..<30).map { "video0/i0-\($0).m4s" })
        #expect(video.segments.first?.initialization?.uri == "video0/i0-init0.mp4")
        #expect(presentation.duration == .seconds(60 as Int64))
        let variants = try #require(presentation.multivariantPlaylist).variants
        #expect(variants.map(\.uri) == ["vod-video0.m3u8", "vod-opus.m3u8"])
        #expect(variants[0].codecs == ["avc1.64001f", "opus"])
        // 250 kB in two seconds, for each of two tracks.
        #expect(variants[0].bandwidth == Bitrate(bitsPerSecond: 2_000_000))
    }

    @Test("a running recording is an event: its playlist only grows, and does not end")
    func event() throws {
        var previous: MediaPlaylist?
        for count: Int64 in 1..<20 {
            let presentation = RecordingPresentation(
                Self.renditions, Self.segments("video0", 0..<count) + Self.segments("opus", 0..<count),
                isComplete: false)
            let playlist = try #require(try Self.check(presentation)["vod-video0.m3u8"])
            #expect(playlist.kind == .event && !playlist.isComplete)
            if let previous {
                #expect(playlist.segments.starts(with: previous.segments))
                #expect(MediaPlaylistRules.check(playlist, after: previous) == [])
            }
            previous = playlist
        }
    }

    @Test("absent media are gaps in all renditions, so that the dates and discontinuities agree")
    func gaps() throws {
        // The publisher reconnects after 20 s and the platform restarts after 60 s. Audio begins late in the last epoch.
        let renditions =
            Self.renditions + [
                Self.rendition("video0", epoch: 1, "avc1.64001f"), Self.rendition("opus", epoch: 1, "opus"),
            ]
        let segments =
            Self.segments("video0", 0..<10, without: [4, 5]) + Self.segments("opus", 0..<10)
            + Self.segments("video0", 10..<20, from: .seconds(40 as Int64), discontinuity: 1)
            + Self.segments("opus", 10..<20, from: .seconds(40 as Int64), discontinuity: 1)
            + Self.segments("video0", epoch: 1, 0..<30, from: .seconds(90 as Int64))
            + Self.segments("opus", epoch: 1, 0..<27, from: .seconds(96 as Int64))
        let media = try Self.check(RecordingPresentation(renditions, segments, isComplete: true))
        let video = try #require(media["vod-video0.m3u8"])
        let audio = try #require(media["vod-opus.m3u8"])
        for playlist in [video, audio] {
            #expect(playlist.segments.filter(\.isDiscontinuity).map(\.discontinuity) == [1, 2])
            #expect(playlist.segments.reduce(.zero) { $0 + $1.duration } == .seconds(100 as Int64))
        }
        let gaps = video.segments.filter(\.isGap).compactMap(\.programDateTime)
        #expect(gaps == [Self.start + .seconds(8 as Int64), Self.start + .seconds(10 as Int64)])
        #expect(audio.segments.filter(\.isGap).count == 3)
        #expect(video.segments.last?.uri == "video0/i1-29.m4s")
    }

    @Test("a gap of the video during which the audio is in the next period is in the recording once")
    func gapAcrossPeriods() throws {
        // The publisher has another codec for 20 s, and the audio continues with a discontinuity.
        let absent = Self.segments("video0", 10..<20, from: .seconds(20 as Int64)).map { segment in
            var segment = segment
            (segment.isGap, segment.length) = (true, 0)
            return segment
        }
        let segments =
            Self.segments("video0", 0..<10) + absent + Self.segments("opus", 0..<10)
            + Self.segments("video0", 20..<30, from: .seconds(40 as Int64), discontinuity: 1)
            + Self.segments("opus", 10..<30, from: .seconds(20 as Int64), discontinuity: 1)
        let presentation = RecordingPresentation(Self.renditions, segments, isComplete: true)
        #expect(presentation.duration == .seconds(60 as Int64))
        let media = try Self.check(presentation)
        for playlist in [try #require(media["vod-video0.m3u8"]), try #require(media["vod-opus.m3u8"])] {
            #expect(playlist.segments.filter(\.isDiscontinuity).count == 1)
            #expect(playlist.segments.reduce(.zero) { $0 + $1.duration } == .seconds(60 as Int64))
        }
        #expect(media["vod-video0.m3u8"]?.segments.count { $0.isGap } == 10)
        #expect(media["vod-opus.m3u8"]?.segments.contains { $0.isGap } == false)
        #expect(presentation.position(of: Self.start + .seconds(50 as Int64)) == .seconds(50 as Int64))
    }

    @Test("all tracks pause between two periods")
    func commonGap() throws {
        let absent = ["video0", "opus"].flatMap { name in
            Self.segments(name, 10..<13, from: .seconds(20 as Int64)).map { segment in
                var segment = segment
                (segment.isGap, segment.length) = (true, 0)
                return segment
            }
        }
        let segments =
            Self.segments("video0", 0..<10) + Self.segments("opus", 0..<10) + absent
            + Self.segments("video0", 13..<20, from: .seconds(26 as Int64), discontinuity: 1)
            + Self.segments("opus", 13..<20, from: .seconds(26 as Int64), discontinuity: 1)
        let presentation = RecordingPresentation(Self.renditions, segments, isComplete: true)
        #expect(presentation.duration == .seconds(40 as Int64))
        for playlist in try Self.check(presentation).values {
            #expect(playlist.segments.count { $0.isGap } == 3)
            #expect(playlist.segments.reduce(.zero) { $0 + $1.duration } == .seconds(40 as Int64))
        }
    }

    @Test("a later rendition of a layer continues its track, and a rendition with little media is left out")
    func renditions() throws {
        let renditions =
            Self.renditions + [Self.rendition("video0-1", "avc1.640020"), Self.rendition("aac3", "mp4a.40.2")]
        let segments =
            Self.segments("video0", 0..<10) + Self.segments("opus", 0..<20)
            + Self.segments("video0-1", 0..<10, from: .seconds(20 as Int64), discontinuity: 1)
            + Self.segments("aac3", 0..<2)
        // The discontinuity is that of the audio, too.
        let moved = segments.map { segment in
            var segment = segment
            if segment.rendition == "opus", segment.number >= 10 { segment.discontinuity = 1 }
            return segment
        }
        let presentation = RecordingPresentation(renditions, moved, isComplete: true)
        let media = try Self.check(presentation)
        #expect(media.keys.sorted() == ["vod-opus.m3u8", "vod-video0.m3u8"])
        let video = try #require(media["vod-video0.m3u8"])
        #expect(video.segments.last?.uri == "video0-1/i0-9.m4s")
        #expect(video.segments.count == 20 && !video.segments.contains(where: \.isGap))
    }

    @Test("each address in the playlists is a file of the recording, and others are not")
    func files() throws {
        let segments = Self.segments("video0", 0..<30) + Self.segments("opus", 0..<30)
        let presentation = RecordingPresentation(Self.renditions, segments, isComplete: true)
        for playlist in try Self.check(presentation).values {
            for segment in playlist.segments {
                let fields = try #require(segment.uri).split(separator: "/").map { String($0) }
                guard case .segment(let found)? = presentation.file(fields[1], of: fields[0]) else {
                    Issue.record("\(fields) is missing"); continue
                }
                #expect(found.number == segment.number && segments.contains(found))
            }
        }
        #expect(
            presentation.file("i0-init0.mp4", of: "video0")
                == .initialization(.init(epoch: 0, rendition: "video0", number: 0)))
        for (file, rendition) in [
            ("i0-30.m4s", "video0"), ("i1-0.m4s", "video0"), ("i0-init1.mp4", "opus"), ("i0-0.0.m4s", "opus"),
            ("i0-0.m4s", "aac0"), ("../video0.0-0.mp4", "video0"),
        ] {
            #expect(presentation.file(file, of: rendition) == nil)
        }
        #expect(presentation.mediaPlaylist("vod-video1") == nil && presentation.mediaPlaylist("video0") == nil)
    }

    @Test("a recording without segments has no playlist")
    func empty() {
        let presentation = RecordingPresentation(Self.renditions, [], isComplete: true)
        #expect(presentation.isEmpty && presentation.multivariantPlaylist == nil && presentation.duration == .zero)
    }
}

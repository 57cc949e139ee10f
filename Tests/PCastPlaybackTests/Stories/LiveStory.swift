import PCastCore
import PCastIO
import Testing

@testable import PCastPlayback

/// A live program whose window allows seeks back.
@Suite("A live program with a window", .enabled(if: Program.hasFFmpeg))
struct LiveStory {
    private static let window = 9
    private let folder: TemporaryFolder
    private let film = StampedFilm(seconds: 40, rate: 10)
    private let hls: HLSFilm

    init() throws {
        folder = try TemporaryFolder()
        hls = try HLSFilm(film, segmentSeconds: 1, in: folder)
    }

    /// Starts a server whose window slides by a segment each second.
    private func origin() throws -> TestOrigin {
        let (folder, hls) = (folder, hls)
        let began = MonotonicClock.now()
        return try TestOrigin { request in
            guard request.path == "/live.m3u8" else {
                return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
            }
            let first = Int((MonotonicClock.now() - began).seconds)
            let end = min(first + Self.window, hls.count)
            return .text(hls.playlist(min(first, end)..<end, isComplete: end == hls.count))
        }
    }

    @Test(
        "timecodes are those of the shown frame, seeks work, and the window moves the position",
        .timeLimit(.minutes(2)))
    func window() async throws {
        let origin = try origin()
        defer { origin.stop() }
        let story = Story(rate: film.rate)
        let player = story.player
        player.set(video: Video(origin.uri("/live.m3u8")), play: true)
        try await story.wait(for: "+ ready")
        #expect(player.duration == .infinity && story.hasTold("session's duration inf"))
        let joined = story.stamp
        #expect(joined >= 6 * film.rate, "three target durations from the edge (RFC 8216, section 6.3.3)")
        // Positions count from the beginning of the initial window.
        let first = joined - Int((player.position * Double(film.rate)).rounded())
        try await story.wait { story.stamp >= joined + 12 }

        // The seek goes back as far as possible.
        let range = try #require(player.playhead?.seekableRange)
        #expect(range.upperBound - range.lowerBound == .seconds(6 as Int64))
        let back = TimeSpan(seconds: player.position) - .seconds(3 as Int64)
        let landed = try await player.seek(to: back)
        #expect((landed - back).magnitude <= .milliseconds(100) && story.stamp < joined + 12)
        try await story.pause(first: first)
        // A seek by wall-clock time works, too.
        let moment = StampedFilm.captureTime + film.position(of: story.stamp + 5)
        _ = try await player.seek(to: moment)
        #expect(player.playhead?.timecode.map { ($0 - moment).magnitude <= .milliseconds(100) } == true)
        let now = StampedFilm.captureTime + film.position(of: story.stamp)
        #expect((now - moment).magnitude <= .milliseconds(100), "the frame of that time is shown")

        let edge = try await player.seekToLiveEdge()
        let latest = try #require(player.playhead?.seekableRange?.upperBound)
        #expect((latest - edge).magnitude <= .seconds(2 as Int64))
        #expect(Double(story.stamp - first) >= (edge.seconds - 0.1) * Double(film.rate))

        // The pause is longer than the window. The frame remains, but playback cannot resume from it.
        try await story.pause(first: first)
        let stamp = story.stamp
        try await story.wait { player.playhead?.isEvicted == true }
        #expect(story.stamp == stamp)
        let count = story.transcript.all.count
        player.play()
        try await story.wait(for: "+ likelyToKeepUp", after: count)
        await player.settled()
        let window = try #require(player.playhead?.seekableRange)
        #expect(story.stamp > stamp + film.rate && !(player.playhead?.isEvicted ?? true))
        #expect(
            player.position >= window.lowerBound.seconds - 0.5 && player.position <= window.upperBound.seconds + 0.5)
        // A player that is moved into the window has not stalled.
        let after = story.transcript.all.dropFirst(count).filter { $0.hasPrefix("+") }
        #expect(after.prefix(4) == ["+ playRequest", "+ play", "+ bufferEmpty", "+ likelyToKeepUp"])
        let gone = story.stamp
        try await story.wait { story.stamp >= gone + 5 }
        expectTimecodes(story, first)
        // The window is reported as it slides.
        #expect(story.told.count { $0.hasPrefix("ranges") } >= 4)
        await story.finish()
    }

    /// Expects that the timecode of each frame was its capture time within one frame, and that the ends of the window
    /// equal the ends of the range.
    private func expectTimecodes(_ story: Story, _ first: Int) {
        let origin = StampedFilm.captureTime + film.position(of: first)
        let frame = TimeSpan.milliseconds(Int64(1_000 / film.rate))
        var apart: [TimeSpan] = []
        for sight in story.sights {
            guard let playhead = sight.playhead, let timecode = playhead.timecode else { continue }
            apart.append((timecode - (StampedFilm.captureTime + film.position(of: sight.stamp))).magnitude)
            guard let range = playhead.seekableRange, let times = playhead.timecodeRange else { continue }
            #expect((times.lowerBound - origin - range.lowerBound).magnitude <= frame)
            #expect((times.upperBound - origin - range.upperBound).magnitude <= frame)
        }
        #expect(apart.count >= 20 && apart.count { $0 > frame + .milliseconds(1) } * 10 <= apart.count, "\(apart)")
    }
}

import PCastCore
import PCastHLS
import PCastTestSupport
import Testing

@Suite("A live program over many reloads")
struct SlidingWindowTests {
    @Test("each segment keeps its position and its wall time from first to last", arguments: UInt64(1)...30)
    func stable(seed: UInt64) throws {
        let server = LiveServer(seed: seed)
        var generator = SeededGenerator(seed: seed &+ 1_000)
        var time = TimeSpan.seconds(10 as Int64)
        var timeline = PlaylistTimeline(try MediaPlaylist(server.playlist(at: time).text))
        while time < server.end {
            time += .milliseconds(Int64.random(in: 100...9_000, using: &generator))
            let stale = Int.random(in: 0..<4, using: &generator) == 0
            let asked = stale ? max(time - .seconds(12 as Int64), .seconds(10 as Int64)) : time
            _ = timeline.update(to: try MediaPlaylist(server.playlist(at: asked).text))
            #expect(timeline.epoch == 0)
            for segment in timeline.segments {
                let end = server.ends[Int(segment.number)]
                let begin = end - server.segments[Int(segment.number)].duration
                #expect(segment.start == begin)
                #expect(segment.wallTime == server.wallTime(at: begin))
            }
            // Every position of the window converts to wall time and back.
            let span = timeline.end - timeline.start
            let position =
                timeline.start + TimeSpan(seconds: span.seconds * Double.random(in: 0..<0.999, using: &generator))
            let segment = try #require(timeline.segment(at: position))
            #expect(segment.start <= position && position < segment.end)
            let wallTime = try #require(timeline.wallTime(at: position))
            #expect(timeline.position(of: wallTime) == position)
        }
        #expect(timeline.update(to: try MediaPlaylist(server.playlist(at: server.end).text)) != .stale)
        #expect(timeline.duration == timeline.end - timeline.start)
    }

    @Test("positions are stable without dates as well", arguments: UInt64(1)...5)
    func undated(seed: UInt64) throws {
        var server = LiveServer(seed: seed, dates: false, first: 1_000)
        server.hasParts = false
        var timeline = PlaylistTimeline(server.playlist(at: .seconds(10 as Int64)))
        for second in 11...Int64(server.end.seconds) + 1 {
            _ = timeline.update(to: server.playlist(at: .seconds(second)))
            let last = try #require(timeline.segments.last)
            #expect(last.end == server.ends[Int(last.number - 1_000)])
            #expect(last.wallTime == nil)
        }
    }

    @Test("a program without a window can be played from its beginning", arguments: UInt64(1)...3)
    func event(seed: UInt64) throws {
        var server = LiveServer(seed: seed)
        server.window = nil
        var timeline = PlaylistTimeline(server.playlist(at: .seconds(20 as Int64)))
        for second in 21...Int64(server.end.seconds) - 5 {
            _ = timeline.update(to: server.playlist(at: .seconds(second)))
            let range = timeline.seekableRange(usingParts: true)
            #expect(range.lowerBound == .zero && range.upperBound == timeline.end - .milliseconds(1_500))
        }
    }
}

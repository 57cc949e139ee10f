import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("Playlists list the date ranges of a stream")
struct PlaylistDateRangeTests {
    private static let name = StreamPackagerTests.audio.name

    private static func live() -> LiveRun { LiveRun([StreamPackagerTests.audio]) }

    /// Returns a range that begins at a time since the start of the run.
    private static func range(_ id: String, at time: TimeSpan, for duration: TimeSpan? = nil) -> DateRange {
        DateRange(
            id: id, classID: "test", start: LiveRun.start + time, duration: duration,
            attributes: [DateRange.Attribute("X-NAME", .quoted("the \(id)"))])
    }

    private static func listed(_ run: LiveRun) -> [String] { run.playlists[name]?.dateRanges.map(\.id) ?? [] }

    /// The time since the start that the media of the playlist has reached.
    private static func edge(_ run: LiveRun) throws -> TimeSpan {
        let playlist = try #require(run.playlists[name])
        let last = try #require(playlist.openSegment ?? playlist.segments.last)
        return try #require(last.programDateTime) + last.duration - LiveRun.start
    }

    @Test("a range is listed from the part on that reaches its start, and no earlier one")
    func release() throws {
        var run = Self.live()
        run.run(.seconds(5 as Int64))
        run.packager.add(Self.range("goal", at: .milliseconds(7_310)))
        var isListed = false
        while !isListed, run.time < .seconds(9 as Int64) {
            run.run(.milliseconds(20))
            isListed = !Self.listed(run).isEmpty
            #expect(isListed == (try Self.edge(run) >= .milliseconds(7_310)), "at \(run.time.seconds)")
        }
        #expect(isListed)
        #expect(run.playlists[Self.name]?.dateRanges.first?.attributes.first?.value == .quoted("the goal"))
        #expect(run.violations == [])
    }

    @Test("a range is removed with the last segment that it overlaps")
    func removal() throws {
        var run = Self.live()
        run.run(.seconds(5 as Int64))
        run.packager.add(Self.range("short", at: .seconds(4 as Int64)))
        run.packager.add(Self.range("long", at: .seconds(4 as Int64), for: .seconds(20 as Int64)))
        run.run(.seconds(1 as Int64))
        #expect(Self.listed(run) == ["short", "long"])
        var removed: [String: TimeSpan] = [:]
        while run.time < .seconds(90 as Int64), removed.count < 2 {
            run.run(.milliseconds(200))
            let first = try #require(run.playlists[Self.name]?.segments.first?.programDateTime)
            for id in ["short", "long"] where !Self.listed(run).contains(id) {
                removed[id] = removed[id] ?? (first - LiveRun.start)
            }
        }
        // A range is listed while the first segment begins before its end.
        #expect(try #require(removed["short"]) > .seconds(4 as Int64))
        #expect(try #require(removed["short"]) <= .milliseconds(6_500))
        #expect(try #require(removed["long"]) > .seconds(24 as Int64))
        #expect(try #require(removed["long"]) <= .milliseconds(26_500))
        #expect(run.violations == [])
    }

    @Test("of many ranges, the last that have begun are listed, and the first that have not are kept")
    func bound() {
        var run = Self.live()
        run.run(.seconds(10 as Int64))
        for index in 0..<500 { run.packager.add(Self.range("past\(index)", at: .milliseconds(5_000 + Int64(index)))) }
        for index in 0..<500 { run.packager.add(Self.range("next\(index)", at: .milliseconds(11_000 + Int64(index)))) }
        run.run(.milliseconds(500))
        let limit = PlaylistDateRanges.listedLimit
        #expect(Self.listed(run) == (500 - limit..<500).map { "past\($0)" })
        run.run(.seconds(2 as Int64))
        let future = PlaylistDateRanges.futureLimit
        #expect(Self.listed(run) == (future - limit..<future).map { "next\($0)" })
        #expect(run.violations == [])
    }

    @Test("a range is added once, and the captions have none")
    func once() {
        var run = Self.live()
        run.caption("caption", at: .seconds(1 as Int64), for: .seconds(1))
        run.run(.seconds(5 as Int64))
        for _ in 0..<2 { run.packager.add(Self.range("goal", at: .seconds(2 as Int64))) }
        run.run(.seconds(1 as Int64))
        #expect(Self.listed(run) == ["goal"])
        #expect(run.playlists[StreamPackager.captionsName]?.dateRanges == [])
        #expect(run.violations == [])
    }
}

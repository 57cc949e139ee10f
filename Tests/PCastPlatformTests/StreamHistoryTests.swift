import PCastCore
import PCastSFU
import Testing

@testable import PCastPlatform

/// The recent history of a stream.
@Suite struct StreamHistoryTests {
    private func figures(
        _ stream: String = "stream-a", bitrate: Int64? = 1_000_000, packets: Int = 0, lost: Int = 0, viewers: Int = 0
    ) -> StreamMetrics {
        var figures = StreamMetrics(stream: StreamID(stream))
        figures.bitrate = bitrate.map { Bitrate(bitsPerSecond: $0) }
        figures.received.packets = packets
        figures.received.packetsLost = lost
        figures.viewers = viewers
        return figures
    }

    private func time(_ second: Int64) -> WallTime {
        WallTime(millisecondsSinceEpoch: 1_800_000_000_000 + second * 1_000)
    }

    @Test("the history keeps the last five minutes, the oldest first") func bound() {
        var history = StreamHistory()
        for second in 0..<1_000 { history.add(figures(bitrate: Int64(second)), at: time(Int64(second))) }
        let samples = history.samples(after: time(-1))
        #expect(samples.count == 300)
        #expect(samples.map { $0.bitrate?.bitsPerSecond } == (700..<1_000).map { Int64($0) })
        #expect(samples.map(\.time) == (700..<1_000).map { time($0) })
        #expect(history.last == samples.last)
        #expect(history.samples(after: time(997)).map(\.time) == [time(998), time(999)])
        #expect(history.samples(after: time(999)).isEmpty)
    }

    @Test("an unknown value stays unknown, and each second has one sample") func unknown() throws {
        var history = StreamHistory()
        #expect(history.last == nil && history.samples(after: time(0)).isEmpty)
        history.add(figures(bitrate: nil), at: time(1))
        history.add(figures(bitrate: 5), at: time(1) + .milliseconds(900))
        let sample = try #require(history.last)
        #expect(sample.bitrate == nil && sample.roundTrip == nil)
        #expect(history.samples(after: time(0)).count == 1)
    }

    @Test("metrics keep their values, and too large ones become the largest") func values() throws {
        var history = StreamHistory()
        var given = figures(bitrate: 1 << 40, viewers: 70_000)
        given.roundTrip = .milliseconds(1_234)
        given.quality = DataQuality(status: .audioOnly, reason: .uploadLimited)
        given.dimensions = Dimensions(width: 1_280, height: 720)
        history.add(given, at: time(1))
        let sample = try #require(history.last)
        #expect(sample.bitrate?.bitsPerSecond == Int64(UInt32.max - 1))
        #expect(sample.viewers == 70_000 && sample.roundTrip == .milliseconds(1_234))
        #expect(sample.quality == given.quality && history.dimensions == given.dimensions)
    }

    @Test("loss is that of the last second only") func loss() throws {
        var history = StreamHistory()
        history.add(figures(packets: 100, lost: 100), at: time(1))
        #expect(history.last?.loss == 0.5)
        history.add(figures(packets: 190, lost: 110), at: time(2))
        #expect(history.last?.loss == 0.1)
        history.add(figures(packets: 190, lost: 105), at: time(3))
        #expect(history.last?.loss == 0, "corrected losses do not reduce the counter")
    }

    @Test("a clock that was set back starts a new history") func clock() {
        var history = StreamHistory()
        for second in 0..<400 { history.add(figures(), at: time(Int64(second))) }
        history.add(figures(bitrate: 7), at: time(50))
        history.add(figures(bitrate: 8), at: time(51))
        #expect(history.samples(after: time(0)).map { $0.bitrate?.bitsPerSecond } == [7, 8])
    }

    @Test("streams that ended are removed, and new ones beyond the maximum have no history") func all() {
        let histories = StreamHistoryStore()
        let many = (0...StreamHistoryStore.capacity).map { figures("stream-\($0)") }
        histories.note(many, at: time(1))
        #expect(histories.history(of: StreamID("stream-0")) != nil)
        #expect(histories.history(of: StreamID("stream-\(StreamHistoryStore.capacity)")) == nil)
        histories.note([figures("stream-0"), many[StreamHistoryStore.capacity]], at: time(2))
        #expect(histories.history(of: StreamID("stream-0"))?.samples(after: time(0)).count == 2)
        #expect(histories.history(of: StreamID("stream-1")) == nil)
        #expect(histories.history(of: many[StreamHistoryStore.capacity].stream)?.samples(after: time(0)).count == 1)
    }
}

import PCastCore
import PCastHLS
import PCastTestSupport
import Testing

/// A viewer of a stream with low latency over a link whose rate changes, on virtual time. Parts of 200 ms are available when
/// they are created, and begin with a large one in each segment of two seconds.
private struct LowLatencyViewing {
    static let kilobits: [Int64] = [200, 700, 2_500]
    private static let part = TimeSpan.milliseconds(200)
    private static let partsPerSegment = 10
    private static let step = TimeSpan.milliseconds(2)
    private static let holdBack = TimeSpan.milliseconds(700)
    /// The time in which the playlist of another variant is loaded.
    private static let playlistTime = TimeSpan.milliseconds(100)

    var choice: VariantChoice
    /// The rate of the link in kilobits per second at a time.
    var link: (TimeSpan) -> Double
    private(set) var now = TimeSpan.zero
    /// The rungs that were loaded, with the times at which they began.
    private(set) var rungs: [(rung: Int, at: TimeSpan)] = []
    private(set) var stalled = TimeSpan.zero
    /// The number of segments that were left for a lower rung.
    private(set) var abandoned = 0

    /// The end of the media that are loaded, and the position of playback; nil before its beginning.
    private var loaded = TimeSpan.zero
    private var position: TimeSpan?
    private var rung: Int
    /// The number of the next part.
    private var number = 0
    /// The rung whose playlist is being loaded; nil for none.
    private var candidate: Int?

    init(link: @escaping (TimeSpan) -> Double) {
        let ladder = VariantLadder(
            MultivariantPlaylist(
                variants: Self.kilobits.map { rate in
                    VariantStream(
                        uri: "\(rate).m3u8", bandwidth: .kilobits(rate * 5 / 4), averageBandwidth: .kilobits(rate),
                        codecs: ["avc1.64001f"])
                }))
        choice = VariantChoice(ladder)
        self.link = link
        rung = choice.choose(buffered: .zero, goal: .seconds(1 as Int64), at: Instant(nanoseconds: 0))
        rungs = [(rung, .zero)]
    }

    /// The number of changes of the rung.
    var changes: Int { zip(rungs, rungs.dropFirst()).count { $0.rung != $1.rung } }

    /// Returns the first time from `start` on at which a condition holds for the rung; nil if it never does.
    func time(from start: TimeSpan, where condition: (Int) -> Bool) -> TimeSpan? {
        if let current = rungs.last(where: { $0.at <= start }), condition(current.rung) { return start }
        return rungs.first { $0.at > start && condition($0.rung) }?.at
    }

    /// Returns the size of a part in bytes.
    private func size(_ number: Int) -> Int64 {
        let average = Self.kilobits[rung] * 1_000 / 8 / 5
        return number % Self.partsPerSegment == 0 ? average * 3 : average * 7 / 9
    }

    /// The duration of the media that waits to be played.
    private var buffered: TimeSpan { position.map { max(loaded - $0, .zero) } ?? loaded }

    private mutating func advance() {
        now += Self.step
        if position == nil, loaded >= Self.holdBack { position = .zero }
        guard let playing = position else { return }
        if playing + Self.step <= loaded { position = playing + Self.step } else { stalled += Self.step }
    }

    /// Loads until a time.
    mutating func run(until end: TimeSpan) {
        while now < end {
            // Playback that is too late seeks to the edge.
            let latest = Int(now.nanoseconds / Self.part.nanoseconds)
            if latest - number > 30, number % Self.partsPerSegment == 0 {
                number = latest / Self.partsPerSegment * Self.partsPerSegment
                loaded = Self.part * Int64(number)
                position = loaded
            }
            while now < Self.part * Int64(number + 1) { advance() }
            if number % Self.partsPerSegment == 0 { choose() }
            number = load(number) ? number + 1 : number / Self.partsPerSegment * Self.partsPerSegment
        }
    }

    /// Loads a part. Returns false if its segment was left for another rung.
    private mutating func load(_ number: Int) -> Bool {
        let size = size(number)
        let began = now
        var received = 0.0
        while received < Double(size) {
            received += link(now) * Self.step.seconds * 1_000 / 8
            advance()
            guard (now - began).nanoseconds % 100_000_000 == 0 else { continue }
            let count = Int64(min(received, Double(size)))
            let isTooSlow = choice.abandonsPart(
                received: count, of: size, in: now - began, ofPart: Self.part, buffered: buffered)
            guard isTooSlow else { continue }
            choice.abandoned(bytes: count, in: now - began)
            abandoned += 1
            change(to: choice.choose(buffered: buffered, goal: .seconds(1 as Int64), at: instant))
            return false
        }
        choice.downloaded(bytes: size - 1_460, in: now - began, as: .part(duration: Self.part))
        loaded = max(loaded, Self.part * Int64(number + 1))
        return true
    }

    private var instant: Instant { Instant(nanoseconds: 0) + now }

    /// Chooses the rung of a segment. A higher one is loaded when its playlist was requested during the segment before.
    private mutating func choose() {
        let chosen = choice.choose(buffered: buffered, goal: max(buffered - Self.part, Self.part), at: instant)
        if chosen < rung || chosen == candidate { change(to: chosen) }
        candidate = chosen > rung ? chosen : nil
    }

    private mutating func change(to chosen: Int) {
        guard chosen != rung else { return }
        let end = now + Self.playlistTime
        if chosen < rung { while now < end { advance() } }
        rung = chosen
        rungs.append((chosen, now))
    }
}

@Suite("The selection of a variant of a low-latency stream")
struct LowLatencyVariantTests {
    @Test(
        "a wide link leads to the best variant, although the parts of a low one are small",
        arguments: [8_000.0, 20_000, 100_000])
    func rise(kilobits: Double) throws {
        var viewing = LowLatencyViewing { _ in kilobits }
        viewing.run(until: seconds(60))
        let best = try #require(viewing.time(from: .zero) { $0 == 2 })
        #expect(best < seconds(25) && viewing.rungs.last?.rung == 2)
        #expect(viewing.stalled == .zero && viewing.abandoned == 0 && viewing.changes <= 2)
    }

    @Test(
        "a link that becomes narrower than its variant is noticed within a few parts, and one that widens again leads back",
        arguments: [300.0, 900, 1_200])
    func fall(kilobits: Double) throws {
        var viewing = LowLatencyViewing { $0 >= seconds(40) && $0 < seconds(80) ? kilobits : 20_000 }
        viewing.run(until: seconds(39))
        #expect(viewing.rungs.last?.rung == 2)
        viewing.run(until: seconds(80))
        let lower = try #require(viewing.time(from: seconds(40)) { $0 < 2 })
        #expect(lower - seconds(40) < seconds(2.5), "\(lower)")
        #expect(viewing.stalled < seconds(4), "\(viewing.stalled)")
        let stalled = viewing.stalled
        viewing.run(until: seconds(140))
        let back = try #require(viewing.time(from: seconds(80)) { $0 == 2 })
        #expect(back - seconds(80) < seconds(40), "\(back)")
        #expect(viewing.stalled - stalled < seconds(1))
    }

    @Test("a link that is somewhat wider than a variant is used after a while")
    func probe() throws {
        var viewing = LowLatencyViewing { _ in 3_300 }
        viewing.run(until: seconds(120))
        let best = try #require(viewing.time(from: .zero) { $0 == 2 })
        #expect(best > seconds(20) && viewing.rungs.last?.rung == 2)
        #expect(viewing.stalled < seconds(1) && viewing.changes <= 3)
    }

    @Test("a link that is narrower than a variant at times is tried less and less often", arguments: UInt64(1)...6)
    func variation(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        // The rate changes every ten seconds.
        let rates = (0..<60).map { _ in Double.random(in: 1_200...4_500, using: &generator) }
        var viewing = LowLatencyViewing { rates[min(Int($0.seconds / 10), rates.count - 1)] }
        viewing.run(until: seconds(600))
        #expect(viewing.changes <= 32, "\(viewing.changes)")
        #expect(viewing.stalled < seconds(6), "\(viewing.stalled)")
    }

    @Test("a large part at the beginning of a segment is not taken for a slow link")
    func keyFrames() {
        var choice = LowLatencyViewing { _ in 3_000 }.choice
        choice.pinned = 2
        _ = choice.choose(buffered: .zero, goal: seconds(1), at: Instant(nanoseconds: 0))
        choice.pinned = nil
        func abandons(_ received: Int64, _ elapsed: Double, buffered: Double) -> Bool {
            choice.abandonsPart(
                received: received, of: 187_500, in: seconds(elapsed), ofPart: .milliseconds(200),
                buffered: seconds(buffered))
        }
        // The link delivers 3 Mbit/s, which is more than the variant needs.
        #expect(!abandons(112_500, 0.3, buffered: 0))
        // It delivers 1 Mbit/s.
        #expect(abandons(37_500, 0.3, buffered: 0.3) && !abandons(37_500, 0.3, buffered: 2))
        #expect(!abandons(18_750, 0.15, buffered: 0) && !abandons(0, 0.9, buffered: 0) && abandons(0, 1, buffered: 0))
    }
}

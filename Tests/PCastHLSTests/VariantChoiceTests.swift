import PCastCore
import PCastHLS
import PCastTestSupport
import Testing

@Suite("The selection of a variant")
struct VariantChoiceTests {
    private static let kilobits: [Int64] = [400, 800, 1_600, 3_200, 6_400]

    private static func ladder() -> VariantLadder {
        VariantLadder(
            MultivariantPlaylist(
                variants: kilobits.shuffledAlike.enumerated().map { index, rate in
                    VariantStream(
                        uri: "\(rate).m3u8", bandwidth: .kilobits(rate), codecs: ["avc1.64001f", "mp4a.40.2"],
                        resolution: Dimensions(width: Int(rate) / 4 * 16 / 10, height: Int(rate) / 4 * 9 / 10))
                }))
    }

    private let goal = seconds(20)

    /// Segments of 4 s over a link with a bandwidth of `kilobits` at each time. They play as they arrive.
    private struct Viewing {
        var choice: VariantChoice
        var now = Instant(nanoseconds: 0)
        var buffered = TimeSpan.zero
        var rungs: [Int] = []
        var stalled = TimeSpan.zero

        mutating func load(_ count: Int, goal: TimeSpan, kilobits: (TimeSpan) -> Double) {
            for _ in 0..<count {
                if buffered > goal {
                    now += buffered - goal
                    buffered = goal
                }
                let rung = choice.choose(buffered: buffered, goal: goal, at: now)
                rungs.append(rung)
                let bits = Double(choice.ladder.rungs[rung].average.bitsPerSecond) * 4
                let span = TimeSpan(seconds: bits / (kilobits(now - Instant(nanoseconds: 0)) * 1_000))
                choice.downloaded(bytes: Int64(bits / 8), in: span)
                now += span
                if span > buffered, rungs.count > 1 { stalled += span - buffered }
                buffered = max(buffered - span, .zero) + .seconds(4 as Int64)
            }
        }

        var changes: Int { zip(rungs, rungs.dropFirst()).count { $0 != $1 } }
    }

    @Test("with content steering, variants of pathways with equal groups of their own are mirrors")
    func pathwayGroups() throws {
        func text(_ steering: String, _ names: [String]) -> String {
            let groups = zip(["a", "b"], names).map {
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"\($0)\",NAME=\"\($1)\",URI=\"\($0)/audio.m3u8\"\n"
            }
            let variants = ["a", "b"].map {
                "#EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO=\"\($0)\",PATHWAY-ID=\"\($0)\"\n\($0)/video.m3u8\n"
            }
            return "#EXTM3U\n" + steering + groups.joined() + variants.joined()
        }
        func rungs(_ text: String) throws -> [[String]] {
            VariantLadder(try MultivariantPlaylist(text)).rungs.map { $0.mirrors.map(\.uri) }
        }
        let steering = "#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer.json\"\n"
        #expect(try rungs(text(steering, ["Main", "Main"])) == [["a/video.m3u8", "b/video.m3u8"]])
        #expect(try rungs(text(steering, ["Main", "Other"])).count == 2)
        #expect(try rungs(text("", ["Main", "Main"])).count == 2)
        // Two qualities of one pathway are no mirrors, although their groups have equal names.
        let qualities = text(steering, ["Main", "Main"]).replacing("PATHWAY-ID=\"b\"", with: "PATHWAY-ID=\"a\"")
        #expect(try rungs(qualities).count == 2)
    }

    @Test("the ladder is ordered by bandwidth, with mirrors together and without audio-only variants")
    func ladder() throws {
        var mirror = VariantStream(uri: "https://b/2.m3u8", bandwidth: .kilobits(2_000), codecs: ["avc1"])
        mirror.pathwayID = "B"
        var playlist = MultivariantPlaylist(variants: [
            VariantStream(uri: "2.m3u8", bandwidth: .kilobits(2_000), codecs: ["avc1"]),
            VariantStream(uri: "1.m3u8", bandwidth: .kilobits(1_000), codecs: ["avc1", "mp4a.40.2"]), mirror,
            VariantStream(uri: "sound.m3u8", bandwidth: .kilobits(64), codecs: ["mp4a.40.5"]),
            VariantStream(uri: "hevc.m3u8", bandwidth: .kilobits(900), codecs: ["hvc1"]),
        ])
        let ladder = VariantLadder(playlist) { !$0.codecs.contains("hvc1") }
        #expect(ladder.rungs.map { $0.mirrors.map(\.uri) } == [["1.m3u8"], ["2.m3u8", "https://b/2.m3u8"]])
        playlist.variants = [playlist.variants[3]]
        #expect(VariantLadder(playlist).rungs.count == 1)
        // The author's order has priority over the bandwidth if each variant has a score.
        var (good, better) = (mirror, VariantStream(uri: "x", bandwidth: .kilobits(1_500), codecs: ["avc1"]))
        (good.score, better.score) = (1, 2)
        #expect(VariantLadder(MultivariantPlaylist(variants: [better, good])).rungs.map(\.variant.uri).last == "x")
    }

    @Test("the client finds and keeps the variant for the bandwidth", arguments: [600.0, 1_300, 2_500, 5_000, 20_000])
    func steady(kilobits: Double) {
        var viewing = Viewing(choice: VariantChoice(Self.ladder()))
        viewing.load(60, goal: goal) { _ in kilobits }
        let expected = Self.kilobits.lastIndex { Double($0) <= kilobits * 0.7 } ?? 0
        #expect(viewing.rungs.last == expected)
        #expect(viewing.changes <= 4 && viewing.stalled <= seconds(3))
    }

    @Test("a bandwidth between two variants causes few switches", arguments: UInt64(1)...10)
    func between(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var viewing = Viewing(choice: VariantChoice(Self.ladder()))
        viewing.load(100, goal: goal) { _ in Double.random(in: 1_700...2_900, using: &generator) }
        #expect(viewing.changes <= 12)
        #expect(viewing.stalled == .zero || viewing.stalled < seconds(2))
        #expect(viewing.rungs.suffix(90).allSatisfy { $0 == 1 || $0 == 2 })
    }

    @Test("a lower bandwidth is followed before the buffer is empty")
    func fall() {
        var viewing = Viewing(choice: VariantChoice(Self.ladder()))
        viewing.load(30, goal: goal) { _ in 10_000 }
        #expect(viewing.rungs.last == 4 && viewing.buffered >= seconds(20))
        viewing.load(20, goal: goal) { _ in 1_200 }
        #expect(viewing.rungs.suffix(15).allSatisfy { $0 <= 1 })
        #expect(viewing.stalled <= seconds(6))
    }

    @Test("a higher bandwidth is followed, but not at once")
    func recovery() {
        var viewing = Viewing(choice: VariantChoice(Self.ladder()))
        viewing.load(20, goal: goal) { _ in 700 }
        #expect(viewing.rungs.last == 0)
        let before = viewing.now
        viewing.load(30, goal: goal) { _ in 10_000 }
        #expect(viewing.rungs.last == 4)
        #expect(viewing.now - before > seconds(8))
    }

    @Test("an upswitch needs enough buffer and time since the last switch")
    func hold() {
        var choice = VariantChoice(Self.ladder())
        var now = Instant(nanoseconds: 0)
        func measure(_ kilobits: Int64) {
            for _ in 0..<10 { choice.downloaded(bytes: kilobits * 125, in: seconds(1)) }
        }
        measure(700)
        #expect(choice.choose(buffered: .zero, goal: goal, at: now) == 0)
        measure(1_300)
        #expect(choice.choose(buffered: seconds(9), goal: goal, at: now) == 0)
        #expect(choice.choose(buffered: seconds(10), goal: goal, at: now) == 1)
        measure(20_000)
        now += seconds(7.9)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 1)
        now += seconds(0.1)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 4)
        // A downswitch comes at once.
        measure(900)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 1)
    }

    @Test("parts that arrive while they are produced do not measure the link (LL-HLS throughput)")
    func paced() throws {
        var estimate = ThroughputEstimate()
        #expect(estimate.bitrate == nil)
        let paced = ThroughputEstimate.Transfer.part(duration: seconds(0.5), isPaced: true)
        for _ in 0..<50 { estimate.add(bytes: 50_000, in: seconds(0.5), as: paced) }
        #expect(estimate.bitrate == nil)
        estimate.add(bytes: 1_000_000, in: seconds(1))
        for _ in 0..<50 { estimate.add(bytes: 50_000, in: seconds(0.5), as: paced) }
        #expect(estimate.bitrate == .kilobits(8_000))
        estimate.add(bytes: 100, in: .milliseconds(50))
        #expect(estimate.bitrate == .kilobits(8_000))
        estimate.add(bytes: 100_000, in: seconds(2))
        #expect(try #require(estimate.bitrate) == .kilobits(400))
    }

    @Test("parts that are too small to count alone are measured together, and raise the estimate")
    func smallParts() throws {
        var estimate = ThroughputEstimate()
        let part = ThroughputEstimate.Transfer.part(duration: .milliseconds(200))
        for _ in 0..<3 { estimate.add(bytes: 5_000, in: .milliseconds(1), as: part) }
        #expect(estimate.bitrate == nil)
        estimate.add(bytes: 5_000, in: .milliseconds(1), as: part)
        // The four took four milliseconds, and the shortest time that counts is ten.
        #expect(try #require(estimate.bitrate) == .kilobits(16_000))
        // Small segments do not count: each measures the round-trip time.
        for _ in 0..<9 { estimate.add(bytes: 5_000, in: seconds(1)) }
        #expect(try #require(estimate.bitrate) == .kilobits(16_000))
    }

    @Test("a limit, the surface and the user's selection apply")
    func limits() {
        var choice = VariantChoice(Self.ladder())
        for _ in 0..<10 { choice.downloaded(bytes: 10_000_000, in: seconds(1)) }
        let now = Instant(nanoseconds: 0)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 4)
        choice.configuration.ceiling = .kilobits(2_000)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 2)
        choice.configuration.ceiling = .kilobits(1)
        #expect(choice.choose(buffered: goal, goal: goal, at: now) == 0)
        choice.configuration.ceiling = nil
        // 320 × 180, 640 × 360, …: the smallest that covers the surface.
        choice.configuration.surface = Dimensions(width: 600, height: 300)
        #expect(choice.choose(buffered: goal, goal: goal, at: now + seconds(60)) == 2)
        choice.pinned = 4
        #expect(choice.choose(buffered: .zero, goal: goal, at: now) == 4)
        choice.pinned = 99
        #expect(choice.choose(buffered: .zero, goal: goal, at: now) == 4)
    }

    @Test("a segment that will be too late is replaced by a lower one that arrives sooner")
    func abandoning() {
        var choice = VariantChoice(Self.ladder())
        choice.pinned = 4
        _ = choice.choose(buffered: goal, goal: goal, at: Instant(nanoseconds: 0))
        // 3.2 MB at 100 kB/s, with 10 s to play.
        func abandons(_ received: Int64, buffered: Double = 10, elapsed: Double = 1) -> Bool {
            choice.abandons(
                received: received, in: seconds(elapsed), ofSegment: seconds(4), length: 3_200_000,
                buffered: seconds(buffered))
        }
        #expect(!abandons(100_000))
        choice.pinned = nil
        #expect(abandons(100_000))
        // Much data came at first, and very little recently.
        func abandons(recent: Int64) -> Bool {
            choice.abandons(
                received: 1_000_000, in: seconds(1), ofSegment: seconds(4), length: 3_200_000,
                recent: (recent, seconds(1)), buffered: seconds(10))
        }
        #expect(abandons(recent: 100_000) && !abandons(recent: 400_000))
        #expect(!abandons(100_000, buffered: 40) && !abandons(100_000, elapsed: 0.3) && !abandons(1_000_000))
        choice.pinned = 0
        _ = choice.choose(buffered: goal, goal: goal, at: Instant(nanoseconds: 0))
        choice.pinned = nil
        #expect(!abandons(100_000))
    }
}

extension [Int64] {
    /// The elements in an order that differs from the ladder's.
    fileprivate var shuffledAlike: [Int64] { Array(self[2...] + self[..<2]) }
}

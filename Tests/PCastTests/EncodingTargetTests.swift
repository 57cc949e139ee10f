import PCastCore
import Testing

@testable import PCast

@Suite struct EncodingTargetTests {
    private static let source = EncodingTarget.Source(
        dimensions: Dimensions(width: 1280, height: 720), frameRate: 30, bitrate: .kilobits(2_000))

    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

    @Test("without network reports it encodes everything as requested")
    func unlimited() {
        var target = EncodingTarget()
        let output = target.output(for: Self.source, allowed: nil, at: at(0))
        #expect(output == .init(bitrate: .kilobits(2_000), frameRate: 30, dimensions: Self.source.dimensions))
    }

    @Test("a decrease reduces the bit rate first, then the frame rate, then the size, then stops")
    func order() {
        var target = EncodingTarget()
        var frameRateFell: Int64?
        var sizeFell: Int64?
        var ended: Int64?
        for kilobits in stride(from: Int64(2_000), to: 60, by: -10) {
            let now = at(Double(2_000 - kilobits) / 10)
            guard let output = target.output(for: Self.source, allowed: .kilobits(kilobits), at: now) else {
                ended = ended ?? kilobits
                continue
            }
            #expect(ended == nil)
            #expect(output.bitrate == .kilobits(kilobits))
            if output.frameRate < 30 { frameRateFell = frameRateFell ?? kilobits }
            if output.dimensions != Self.source.dimensions { sizeFell = sizeFell ?? kilobits }
            #expect(output.dimensions.width % 2 == 0 && output.dimensions.height % 2 == 0)
            #expect(output.frameRate >= 15)
        }
        #expect((400...700).contains(frameRateFell ?? 0))
        #expect((150...300).contains(sizeFell ?? 0))
        #expect(ended == 90)
    }

    @Test("the bit rate is lowered at once, and raised by a tenth at most once per second")
    func decreasesAtOnceAndIncreasesSlowly() {
        var target = EncodingTarget()
        _ = target.output(for: Self.source, allowed: .kilobits(1_000), at: at(0))
        #expect(target.output(for: Self.source, allowed: .kilobits(700), at: at(0.01))?.bitrate == .kilobits(700))
        #expect(target.output(for: Self.source, allowed: .kilobits(740), at: at(1.1))?.bitrate == .kilobits(700))
        #expect(target.output(for: Self.source, allowed: .kilobits(780), at: at(1.2))?.bitrate == .kilobits(780))
        #expect(target.output(for: Self.source, allowed: .kilobits(1_500), at: at(1.9))?.bitrate == .kilobits(780))
        #expect(target.output(for: Self.source, allowed: .kilobits(1_500), at: at(2.3))?.bitrate == .kilobits(1_500))
        #expect(target.output(for: Self.source, allowed: .kilobits(9_000), at: at(3.4))?.bitrate == .kilobits(2_000))
    }

    @Test("an estimate that varies rarely changes the size and frame rate")
    func hysteresis() {
        var target = EncodingTarget()
        var generator = SystemlessGenerator(state: 7)
        var shapes = 0
        var last: EncodingTarget.Output?
        for step in 0..<6_000 {
            let kilobits = Int64.random(in: 450...650, using: &generator)
            let output = target.output(for: Self.source, allowed: .kilobits(kilobits), at: at(Double(step) / 30))
            if let output, let last, output.frameRate != last.frameRate || output.dimensions != last.dimensions {
                shapes += 1
            }
            last = output
        }
        #expect(shapes <= 2)
    }

    @Test("an increase is the reverse, up to the original settings")
    func recovery() {
        var target = EncodingTarget()
        let low = target.output(for: Self.source, allowed: .kilobits(120), at: at(0))
        #expect(low.map { $0.dimensions.height < 720 && $0.frameRate == 15 } == true)
        var now = 1.0
        var smallerThanFullAt30 = false
        var output = low
        while now < 20 {
            output = target.output(for: Self.source, allowed: .kilobits(2_000), at: at(now))
            if let output, output.frameRate > 15, output.dimensions != Self.source.dimensions {
                smallerThanFullAt30 = true
            }
            now += 1.0 / 30
        }
        #expect(!smallerThanFullAt30)
        #expect(output == .init(bitrate: .kilobits(2_000), frameRate: 30, dimensions: Self.source.dimensions))
    }

    @Test("video stops below 100 kbit/s, and restarts at 150")
    func off() {
        var target = EncodingTarget()
        #expect(target.output(for: Self.source, allowed: .kilobits(99), at: at(0)) == nil)
        #expect(target.output(for: Self.source, allowed: .kilobits(140), at: at(1)) == nil)
        #expect(target.output(for: Self.source, allowed: .kilobits(160), at: at(2))?.bitrate == .kilobits(160))
        #expect(target.output(for: Self.source, allowed: .kilobits(110), at: at(3))?.bitrate == .kilobits(110))
    }

    @Test("a requested limit of 50 kbit/s is honored, and not interpreted as a bad network")
    func smallLimit() {
        var target = EncodingTarget()
        var source = Self.source
        source.bitrate = .kilobits(50)
        #expect(target.output(for: source, allowed: .kilobits(2_000), at: at(0))?.bitrate == .kilobits(50))
        source.bitrate = .kilobits(2_000)
        _ = target.output(for: source, allowed: .kilobits(5_000), at: at(1))
        #expect(target.output(for: source, allowed: .kilobits(5_000), at: at(2.5))?.bitrate == .kilobits(2_000))
    }

    @Test("dropped frames are evenly distributed")
    func decimation() {
        var decimation = FrameDecimation()
        let taken = (0..<300).map { _ in decimation.keepsFrame(2.0 / 3) }
        #expect((199...201).contains(taken.count { $0 }))
        #expect(!zip(taken, taken.dropFirst()).contains { !$0 && !$1 })
        var all = FrameDecimation()
        #expect((0..<30).allSatisfy { _ in all.keepsFrame(1) })
    }
}

/// A small generator with a fixed seed.
private struct SystemlessGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}

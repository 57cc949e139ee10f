import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The time for which viewers are asked to hold frames, so that retransmissions arrive in time.
struct RepairDelayTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let look = TimeSpan.milliseconds(500)

    private func delay(of losses: [Double], roundTrip: TimeSpan = .milliseconds(100)) -> TimeSpan {
        var repair = RetransmissionLatency()
        for (number, loss) in losses.enumerated() { repair.observe(loss, at: Self.start + Self.look * Int64(number)) }
        return repair.delay(roundTrip: roundTrip)
    }

    @Test("without losses no frame is held, and a single loss changes nothing")
    func clean() {
        #expect(delay(of: Array(repeating: 0, count: 60)) == .zero)
        #expect(delay(of: Array(repeating: 0, count: 40) + [0.05] + Array(repeating: 0, count: 5)) == .zero)
    }

    @Test("2 % of loss add the time of one answer, and 5 % add that of two")
    func losses() {
        let answer = NACKRequester.interval(roundTrip: .milliseconds(100))
        #expect(delay(of: Array(repeating: 0.02, count: 20)) == answer + .milliseconds(35))
        #expect(delay(of: Array(repeating: 0.05, count: 20)) == answer * 2 + .milliseconds(40))
    }

    @Test("a loss of 2 % rarely counts as more, and 6 % are detected within seven seconds")
    func happens() {
        let answer = NACKRequester.interval(roundTrip: .milliseconds(100)) + .milliseconds(35)
        var tooLong = 0
        var tooShort = 0
        for seed in 0..<500 as Range<UInt64> {
            if delay(of: Self.losses(of: 0.02, looks: 60, seed: seed)) > answer { tooLong += 1 }
            if delay(of: Self.losses(of: 0.06, looks: 14, seed: seed)) <= answer { tooShort += 1 }
        }
        #expect(tooLong <= 5 && tooShort <= 5, "of 500: too long \(tooLong), too short \(tooShort)")
    }

    /// Returns the loss rates that congestion control measures on a hop with independent losses: a mean of windows of
    /// seventy packets.
    private static func losses(of share: Double, looks: Int, seed: UInt64) -> [Double] {
        var generator = SeededGenerator(seed: seed)
        var rate: Double?
        return (0..<looks).map { _ in
            let lost = (0..<70).count { _ in Double.random(in: 0..<1, using: &generator) < share }
            let fraction = Double(lost) / 70
            let mean = rate.map { $0 + (fraction - $0) / 2 } ?? fraction
            rate = mean
            return mean
        }
    }

    @Test("a high value of the first measurements is corrected when enough later ones are lower")
    func corrected() {
        let answer = NACKRequester.interval(roundTrip: .milliseconds(100))
        let once = answer + .milliseconds(35)
        let twice = answer * 2 + .milliseconds(40)
        let beginning = [0.15, 0.08, 0.04, 0.02]
        #expect(delay(of: beginning) == twice)
        #expect(delay(of: beginning + Array(repeating: 0.02, count: 5)) == twice)
        #expect(delay(of: beginning + Array(repeating: 0.02, count: 12)) == once)
        #expect(delay(of: beginning + Array(repeating: 0.05, count: 12)) == twice)
    }

    @Test(
        "a viewer on a hop with 2 % loss holds frames for one answer, whatever was lost while it joined",
        arguments: 1...12 as ClosedRange<UInt64>)
    func joining(seed: UInt64) throws {
        let network = VirtualNetwork(seed: seed)
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        var broadcast = Broadcast(.vp8, seed: seed)
        broadcast.videoFrames.frameSize = 4_000
        broadcast.videoFrames.keyFrameSize = 40_000
        broadcast.send(70, from: publisher, by: network)
        network.link = VirtualNetwork.Link(loss: 2, delay: .milliseconds(25), jitter: .milliseconds(10))
        let viewer = try network.view()
        var asked: [TimeSpan] = []
        for _ in 0..<60 {
            broadcast.send(10, from: publisher, by: network)
            if let delay = viewer.connection.statistics.playoutDelay { asked.append(delay.minimum) }
        }
        let answer = NACKRequester.interval(roundTrip: .milliseconds(70)) + .milliseconds(35)
        #expect(try #require(asked.max()) <= answer, "\(asked.map(\.milliseconds))")
        #expect(try #require(asked.last) > .zero)
    }

    @Test("frames are held for half a minute after the last loss")
    func memory() {
        let lossy = Array(repeating: 0.02, count: 20)
        #expect(delay(of: lossy + Array(repeating: 0, count: 50)) > .zero)
        #expect(delay(of: lossy + Array(repeating: 0, count: 90)) == .zero)
    }

    @Test("a path has low jitter until a loss, a queue or jitter occurs, and again after 20 seconds without them")
    func lowJitterPeriods() {
        var path = LowJitterDetector()
        path.observe(loss: 0, queue: .milliseconds(3), jitter: .milliseconds(2), at: Self.start)
        #expect(path.isLowJitter(at: Self.start))
        for (loss, queue, jitter) in [(0.01, 0, 0), (0, 20, 0), (0, 0, 12)] as [(Double, Int64, Int64)] {
            var path = LowJitterDetector()
            path.observe(loss: loss, queue: .milliseconds(queue), jitter: .milliseconds(jitter), at: Self.start)
            #expect(!path.isLowJitter(at: Self.start + .seconds(19 as Int64)))
            #expect(path.isLowJitter(at: Self.start + .seconds(20 as Int64)))
        }
    }

    @Test("a viewer holds frames because of losses on its own hop or the publisher's", arguments: [true, false])
    func asked(isViewers: Bool) throws {
        let network = VirtualNetwork(seed: 5)
        let lossy = VirtualNetwork.Link(loss: 5, delay: .milliseconds(50))
        if !isViewers { network.link = lossy }
        let publisher = try network.publish(.vp8)
        network.link = isViewers ? lossy : VirtualNetwork.Link()
        let viewer = try network.view()
        network.link = VirtualNetwork.Link()
        let other = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected && other.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(500, from: publisher, by: network)
        let asked = try #require(viewer.connection.statistics.playoutDelay)
        #expect(asked.minimum >= .milliseconds(250) && asked.minimum <= .milliseconds(320), "\(asked.minimum)")
        #expect(asked.maximum >= .seconds(10))
        let unaffected = try #require(other.connection.statistics.playoutDelay)
        #expect((unaffected.minimum == .zero) == isViewers)
    }
}

import PCastCore
import PCastTestSupport
import Testing

@testable import PCastRendering

/// The times at which video and audio are decoded after a bad network, in milliseconds. Video has 30 frames per second
/// of eight packets each. Audio has frames of 20 ms that the next two packets repeat. A lost packet is requested again
/// every round trip.
struct PlayoutNetwork {
    /// A decoded frame.
    struct Arrival {
        var media: MediaType
        var captured: Double
        var ready: Double
    }

    var roundTrip = 20.0
    var jitter = 0.0
    var loss = 0.0
    /// The mean number of packets that are lost together.
    var burst = 1.0
    /// The interval of the stalls. During a stall of the second length nothing arrives.
    var stallInterval = 0.0
    var stall = 0.0

    private static let encoding = 10.0
    private static let decoding = 4.0
    private static let packetCount = 8
    private static let frame = 1_000.0 / 30

    /// Returns the times at which the frames are ready.
    func arrivals(seconds: Double, seed: UInt64) -> [Arrival] {
        var numbers = SeededGenerator(seed: seed)
        let all = frames(seconds, &numbers) + audioFrames(seconds, &numbers)
        return all.sorted { $0.ready < $1.ready }
    }

    private func frames(_ seconds: Double, _ numbers: inout SeededGenerator) -> [Arrival] {
        var isBad = false
        var ready = 0.0
        return (0..<Int(seconds * 30)).map { index in
            let captured = Double(index) * Self.frame
            let next = arrival(captured + Self.frame + Self.encoding, &numbers)
            for packet in 0..<Self.packetCount {
                let here = arrival(captured + Self.encoding + Double(packet) * 0.7, &numbers)
                guard isLost(&isBad, &numbers) else {
                    ready = max(ready, here)
                    continue
                }
                // The next packet reveals a loss. After a frame's last packet that is the next frame's first one.
                let noticed = packet < Self.packetCount - 1 ? here + 1 : next
                ready = max(ready, repaired(noticed, &numbers))
            }
            return Arrival(media: .video, captured: captured, ready: ready + Self.decoding)
        }
    }

    private func audioFrames(_ seconds: Double, _ numbers: inout SeededGenerator) -> [Arrival] {
        var isBad = false
        let count = Int(seconds * 50)
        let lost = (0..<count + 2).map { _ in isLost(&isBad, &numbers) }
        var ready = 0.0
        return (0..<count).map { index in
            let captured = Double(index) * 20
            let sent = captured + 22
            if !lost[index] {
                ready = max(ready, arrival(sent, &numbers))
            } else if !lost[index + 1] || !lost[index + 2] {
                ready = max(ready, arrival(sent + (lost[index + 1] ? 40 : 20), &numbers))
            } else {
                ready = max(ready, repaired(arrival(sent + 20, &numbers), &numbers))
            }
            return Arrival(media: .audio, captured: captured, ready: ready + 0.5)
        }
    }

    private func arrival(_ sent: Double, _ numbers: inout SeededGenerator) -> Double {
        let here = sent + roundTrip / 2 + (jitter > 0 ? Double.random(in: 0...jitter, using: &numbers) : 0)
        guard stallInterval > 0 else { return here }
        let began = (here / stallInterval).rounded(.down) * stallInterval
        return began > 0 && here - began < stall ? began + stall : here
    }

    /// Returns whether a packet is lost in Gilbert's channel, in which losses come together.
    private func isLost(_ isBad: inout Bool, _ numbers: inout SeededGenerator) -> Bool {
        guard burst > 1 else { return numbers.happens(loss) }
        isBad = isBad ? !numbers.happens(1 / burst) : numbers.happens(loss / burst / (1 - loss))
        return isBad
    }

    private func repaired(_ noticed: Double, _ numbers: inout SeededGenerator) -> Double {
        var asked = noticed + min(jitter, 30)
        while true {
            let there = arrival(asked, &numbers)
            if !numbers.happens(loss) {
                let back = arrival(there, &numbers)
                if !numbers.happens(loss) { return back }
            }
            asked += roundTrip * 1.125 + 5
        }
    }
}

@Suite("Playout after bad networks, on virtual time")
struct PlayoutNetworkTests {
    private static let seconds = 60.0
    private static let seeds: [UInt64] = Array(1...12)

    private func run(_ network: PlayoutNetwork, _ seed: UInt64) -> PlayoutRun {
        PlayoutRun(network.arrivals(seconds: Self.seconds, seed: seed), seconds: Self.seconds)
    }

    @Test("a clean network with a round trip of 20 ms: only the audio determines the delay", arguments: seeds)
    func clean(seed: UInt64) {
        let run = run(PlayoutNetwork(roundTrip: 20), seed)
        #expect(run.medianLag <= 40 && run.freezes.freezeCount == 0 && run.silence == 0)
        #expect(run.framesRendered == Int(Self.seconds * 30))
    }

    @Test("2 % loss, 60 ms, 10 ms of jitter: no freeze, 29 frames/s, 160 ms, continuous audio", arguments: seeds)
    func randomLoss(seed: UInt64) {
        let run = run(PlayoutNetwork(roundTrip: 60, jitter: 10, loss: 0.02), seed)
        #expect(run.medianLag <= 160 && run.freezes.freezeCount == 0)
        #expect(Double(run.framesRendered) >= Self.seconds * 29)
        #expect(run.silence < 0.002)
    }

    @Test("5 % loss in bursts of 4, 100 ms: frozen at most 1 % of the time, 350 ms")
    func bursts() {
        var frozen = TimeSpan.zero
        for seed in Self.seeds {
            let run = run(PlayoutNetwork(roundTrip: 100, loss: 0.05, burst: 4), seed)
            #expect(run.medianLag <= 350)
            frozen += run.freezes.freezeDuration
        }
        #expect(frozen.seconds / (Self.seconds * Double(Self.seeds.count)) <= 0.012)
    }

    @Test("10 % loss, 60 ms: 24 frames/s, audio missing at most 1.5 % of the time", arguments: seeds)
    func heavyLoss(seed: UInt64) {
        let run = run(PlayoutNetwork(roundTrip: 60, loss: 0.1), seed)
        #expect(Double(run.framesRendered) >= Self.seconds * 24)
        #expect(run.silence <= 0.015 && run.medianLag <= 350)
    }

    @Test("a stall of 200 ms every 5 s: no freeze over 300 ms, and the delay increases once", arguments: seeds)
    func stalls(seed: UInt64) {
        let run = run(PlayoutNetwork(roundTrip: 20, stallInterval: 5_000, stall: 200), seed)
        #expect(run.longestGap <= 300 && run.freezes.freezeCount <= 1)
        // The delay is constant after the third stall.
        let settled = run.delays[16...]
        #expect(settled.max()! - settled.min()! < 10)
        #expect(settled.min()! > 150)
    }

    @Test("when a path becomes clean again, the delay slowly returns to its earlier value")
    func recovers() {
        let bad = PlayoutNetwork(roundTrip: 60, loss: 0.1).arrivals(seconds: 20, seed: 3)
        let clean = PlayoutNetwork(roundTrip: 60).arrivals(seconds: 60, seed: 3).filter { $0.captured >= 20_000 }
        let run = PlayoutRun(bad + clean.filter { $0.ready > bad.last!.ready }, seconds: 60)
        #expect(run.delays[19] > 60)
        #expect(run.delays.last! < 30)
        for (earlier, later) in zip(run.delays[21...], run.delays[22...]) { #expect(earlier - later <= 21) }
    }
}

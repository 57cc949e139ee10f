import PCastCore
import Testing

@testable import PCastRendering

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

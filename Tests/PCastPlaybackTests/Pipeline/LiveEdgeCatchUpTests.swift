import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Pursuit of the live edge")
struct EdgePursuitTests {
    private static let holdBack = TimeSpan.milliseconds(800)

    /// Returns the steps for lags, ten per second.
    private func run(_ pursuit: inout LiveEdgeCatchUp, _ lags: [Double], from second: Double = 0) -> [LiveEdgeCatchUp
        .Step]
    {
        lags.enumerated().compactMap { index, lag in
            let now = Instant(nanoseconds: Int64((second + Double(index) / 10) * 1e9))
            let step = pursuit.step(behind: TimeSpan(seconds: lag), holdBack: Self.holdBack, at: now)
            return step == .unchanged ? nil : step
        }
    }

    @Test("a player that falls behind plays faster, and one that is far behind seeks")
    func steps() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 0.25, count: 100)) == [], "the distance is the duration of a part")
        #expect(run(&pursuit, Array(repeating: 0.6, count: 30), from: 20) == [.play(rate: LiveEdgeCatchUp.rate)])
        #expect(pursuit.isFaster)
        #expect(run(&pursuit, [0.5, 0.3, 0.06], from: 30) == [])
        #expect(run(&pursuit, [0.05], from: 31) == [.play(rate: 1)])
        #expect(run(&pursuit, Array(repeating: 1.7, count: 30), from: 40) == [.jump])
    }

    @Test("an edge that advances in jumps is not pursued")
    func edgeThatJumps() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        let saw = (0..<200).map { 1.9 - Double($0 % 20) / 10 }
        #expect(run(&pursuit, saw) == [])
    }

    @Test("a player that seeked back is not moved, and one that stalled pursues less")
    func pursuesLessAfterSeekOrStall() {
        var pursuit = LiveEdgeCatchUp()
        pursuit.begin(behind: .seconds(20 as Int64), holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 20, count: 50)) == [])
        pursuit.begin(behind: .zero, holdBack: Self.holdBack)
        #expect(run(&pursuit, Array(repeating: 0.6, count: 30), from: 10) == [.play(rate: LiveEdgeCatchUp.rate)])
        pursuit.interrupt(holdBack: Self.holdBack)
        #expect(!pursuit.isFaster)
        #expect(run(&pursuit, Array(repeating: 0.65, count: 60), from: 20) == [])
        #expect(run(&pursuit, Array(repeating: 0.9, count: 30), from: 30) == [.play(rate: LiveEdgeCatchUp.rate)])
    }
}

import PCastCore
import Testing

@testable import PCastPlatform

@Suite("The policy of returning memory")
struct HeapTrimPolicyTests {
    private func times(_ counts: [(second: Double, count: Int)]) -> [Double] {
        var policy = HeapTrimPolicy()
        return counts.filter { entry in
            policy.isTime(with: entry.count, at: Instant(nanoseconds: 0) + TimeSpan(seconds: entry.second))
        }.map(\.second)
    }

    @Test("memory is returned when half of many peers have left, again at half of those, and once afterwards")
    func trimsAsPeersLeave() {
        let received = times([
            (0, 0), (1, 100), (2, 1_000), (3, 600), (4, 500), (5, 300), (6, 20), (7, 0), (35, 0), (36, 0), (37, 0),
            (99, 0),
        ])
        #expect(received == [4, 6, 36])
    }

    @Test("memory is returned once after many peers have joined, and again after as many more")
    func trimsAfterJoins() {
        let received = times([
            (0, 0), (1, 150), (2, 200), (3, 500), (7, 500), (8, 500), (9, 500), (20, 650), (30, 650), (31, 700),
            (35, 690), (36, 695), (37, 700), (99, 700),
        ])
        #expect(received == [8, 37])
    }

    @Test("a few peers cause no return of memory")
    func few() {
        #expect(
            times([
                (0, HeapTrimPolicy.minimumDepartures - 1), (1, 0), (2, HeapTrimPolicy.minimumDepartures - 1), (99, 0),
            ]) == [])
    }
}

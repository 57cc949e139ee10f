import PCastMedia
import Testing

@testable import PCastPlatform

@Suite("The mark of the ebb")
struct EbbMarkTests {
    private func times(_ counts: [(second: Double, count: Int)]) -> [Double] {
        var mark = EbbMark()
        return counts.filter { entry in
            mark.isTime(with: entry.count, at: Instant(nanoseconds: 0) + TimeSpan(seconds: entry.second))
        }.map(\.second)
    }

    @Test("It is told when half of many have gone, again when half of those, and once after the aftermath")
    func ebb() {
        let told = times([
            (0, 0), (1, 100), (2, 1_000), (3, 600), (4, 500), (5, 300), (6, 20), (7, 0), (35, 0), (36, 0), (37, 0),
            (99, 0),
        ])
        #expect(told == [4, 6, 36])
    }

    @Test("Few are not worth it")
    func few() {
        #expect(times([(0, EbbMark.least - 1), (1, 0), (2, EbbMark.least - 1), (99, 0)]) == [])
    }
}

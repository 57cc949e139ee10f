import Testing

@testable import PCastPlatform

@Suite("The mark of the ebb")
struct EbbMarkTests {
    @Test("It is told once when half of many have gone, and again only after they were many again")
    func ebb() {
        var mark = EbbMark()
        let counts = [0, 100, 1_000, 600, 500, 300, 20, 0, 49, 0, 50, 0]
        #expect(
            counts.map { mark.hasFallen(to: $0) } == [
                false, false, false, false, true, false, true, false, false, false, false, true,
            ])
    }

    @Test("Few are not worth it")
    func few() {
        var mark = EbbMark()
        #expect([EbbMark.least - 1, 0, EbbMark.least - 1, 0].allSatisfy { !mark.hasFallen(to: $0) })
    }
}

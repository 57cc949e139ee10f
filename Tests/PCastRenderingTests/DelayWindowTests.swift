import PCastCore
import PCastNetworkEmulation
import Testing

@testable import PCastRendering

@Suite("The recent delays of a track")
struct DelayWindowTests {
    @Test("quantiles and the minimum are those of the last ten seconds, as by sorting them")
    func quantiles() {
        var window = DelayWindow()
        var numbers = SeededGenerator(seed: 4)
        var all: [(Instant, TimeSpan)] = []
        var now = Instant(nanoseconds: 0)
        for _ in 0..<3_000 {
            now += .milliseconds(Int64.random(in: 0...40, using: &numbers))
            let delay = TimeSpan.milliseconds(Int64.random(in: 10...90, using: &numbers))
            window.add(delay, at: now)
            all.append((now, delay))
            let kept = all.filter { now - $0.0 <= DelayWindow.span }.map(\.1).sorted()
            #expect(window.count == kept.count && window.minimum == kept.first)
            #expect(window.quantile(1) == kept.last)
            #expect(window.quantile(0.5) == kept[(kept.count + 1) / 2 - 1])
        }
    }

    @Test("its memory is limited at any frame rate")
    func bounded() {
        var window = DelayWindow()
        for index in 0..<5_000 { window.add(.milliseconds(Int64(index % 7)), at: Instant(nanoseconds: Int64(index))) }
        #expect(window.count == 1024)
    }

    @Test("recurring delays are remembered; single ones, and those beyond the longest delay, are not")
    func stalls() {
        var memory = StallHistory(longest: .milliseconds(450))
        func stall(_ height: Int64, at second: Int64) -> TimeSpan {
            let now = Instant(nanoseconds: second * 1_000_000_000)
            memory.frame(height: .milliseconds(height), isLate: true, at: now)
            memory.frame(height: .milliseconds(10), isLate: false, at: now + .milliseconds(1))
            return memory.height(at: now + .milliseconds(1))
        }
        #expect(stall(200, at: 0) == .zero)
        #expect(stall(2_000, at: 5) == .zero)
        #expect(stall(180, at: 10) == .milliseconds(200))
        #expect(stall(150, at: 35) == .milliseconds(180))
        #expect(memory.height(at: Instant(nanoseconds: 70_000_000_000)) == .zero)
    }
}

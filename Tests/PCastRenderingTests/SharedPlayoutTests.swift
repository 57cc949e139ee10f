import PCastCore
import PCastTestSupport
import Testing

@testable import PCastRendering

@Suite("Synchronized playout")
struct SharedPlayoutTests {
    private func synchronizer(target: Int64, clockError: Double) -> MediaSynchronizer {
        var synchronizer = MediaSynchronizer(mode: .lipSync)
        let offset = PlayoutRun.instantOrigin.nanoseconds - PlayoutRun.wallOrigin.nanosecondsSinceEpoch
        synchronizer.shared = SharedPlayout(
            target: .milliseconds(target),
            clockOffset: .nanoseconds(offset) + TimeSpan(seconds: clockError / 1_000))
        return synchronizer
    }

    @Test("viewers with round trips of 10 to 120 ms, loss and jitter show the same frame within 50 ms")
    func together() {
        let networks = [
            PlayoutNetwork(roundTrip: 10), PlayoutNetwork(roundTrip: 40, jitter: 5),
            PlayoutNetwork(roundTrip: 80, jitter: 10, loss: 0.01), PlayoutNetwork(roundTrip: 120, loss: 0.02),
        ]
        // Each viewer knows the server's clock as precisely as its round trip permits.
        let errors = [0.5, -2.0, 5.0, -8.0]
        let runs = zip(networks, errors).enumerated().map { index, viewer in
            PlayoutRun(
                viewer.0.arrivals(seconds: 30, seed: UInt64(index + 1)), seconds: 30,
                synchronizer: synchronizer(target: 300, clockError: viewer.1))
        }
        var widest: [Double] = []
        for captured in runs[0].shown.keys where captured > 6_000 {
            let moments = runs.compactMap { $0.shown[captured] }
            if moments.count == runs.count { widest.append(moments.max()! - moments.min()!) }
        }
        widest.sort()
        #expect(widest.count > 600)
        #expect(widest[widest.count * 99 / 100] <= 50)
        for run in runs { #expect(abs(run.medianLag - 300) < 15) }
    }

    @Test("a viewer that cannot keep the delay leaves the group, and rejoins when its path improves")
    func leavesAndReturns() {
        var shared = SharedPlayout(target: .milliseconds(100), clockOffset: .zero)
        var now = Instant(nanoseconds: 0)
        var memberships: [SharedPlayout.Membership] = [shared.membership]
        func ask(_ needed: Int64, seconds: Int) {
            for _ in 0..<seconds * 50 {
                let held = shared.hold(needed: .milliseconds(needed), at: now)
                #expect((held == .milliseconds(100)) == (shared.membership == .member))
                if shared.membership != memberships.last { memberships.append(shared.membership) }
                now += .milliseconds(20)
            }
        }
        ask(60, seconds: 5)
        #expect(memberships == [.joining, .member])
        // A second of trouble has no effect.
        ask(140, seconds: 1)
        ask(60, seconds: 5)
        #expect(memberships == [.joining, .member])
        ask(140, seconds: 3)
        #expect(memberships == [.joining, .member, .left])
        // It needs a margin and some time to rejoin.
        ask(90, seconds: 15)
        ask(60, seconds: 9)
        #expect(memberships == [.joining, .member, .left])
        ask(60, seconds: 2)
        #expect(memberships == [.joining, .member, .left, .member])
    }

    @Test("nothing waits before the server's clock is known")
    func waits() {
        var shared = SharedPlayout(target: .milliseconds(100))
        #expect(shared.hold(needed: .zero, at: Instant(nanoseconds: 0)) == nil)
        #expect(shared.membership == .joining)
    }
}

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

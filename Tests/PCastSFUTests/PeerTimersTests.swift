import PCastCore
import Testing

@testable import PCastSFU

/// The deadlines of peers, without the peers themselves.
struct PeerTimersTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func after(_ milliseconds: Int64) -> Instant { start + .milliseconds(milliseconds) }

    @Test("deadlines are served in order, and deferrable ones earlier by at most the slack")
    func order() {
        var timers = PeerTimers(slack: .milliseconds(40))
        var scheduled: [Instant?] = [nil, nil, nil]
        timers.schedule(.viewer(0), at: after(70), isDeferrable: true, instead: &scheduled[0])
        timers.schedule(.viewer(1), at: after(50), isDeferrable: false, instead: &scheduled[1])
        timers.schedule(.publisher(2), at: after(20), isDeferrable: false, instead: &scheduled[2])
        #expect(scheduled == [after(70), after(50), after(20)])
        #expect(timers.deadline == after(20) && timers.earliestDeadline == after(20))
        #expect(timers.pop(until: after(19)) == nil)
        let first = timers.pop(until: after(20))
        #expect(first?.peerIndex == .publisher(2) && first?.instant == after(20))
        #expect(timers.deadline == after(50) && timers.earliestDeadline == after(30))
        #expect(timers.pop(until: after(29)) == nil)
        #expect(timers.pop(until: after(30))?.peerIndex == .viewer(0))
        #expect(timers.pop(until: after(50))?.peerIndex == .viewer(1))
        #expect(timers.deadline == nil && timers.earliestDeadline == nil)
    }

    @Test("a later deadline does not replace the scheduled one, and an earlier one does")
    func replacement() {
        var timers = PeerTimers(slack: .zero)
        var scheduled: Instant?
        timers.schedule(.viewer(0), at: after(50), isDeferrable: false, instead: &scheduled)
        timers.schedule(.viewer(0), at: after(60), isDeferrable: false, instead: &scheduled)
        #expect(scheduled == after(50) && timers.punctual.count == 1)
        timers.schedule(.viewer(0), at: after(40), isDeferrable: true, instead: &scheduled)
        #expect(scheduled == after(40) && timers.punctual.count == 1 && timers.deferrable.count == 1)
    }

    @Test("entries that are out of date are removed when there are many, and valid ones remain")
    func pruning() {
        var timers = PeerTimers(slack: .zero)
        var scheduled: Instant?
        for number in 0..<100 {
            timers.schedule(
                .viewer(0), at: after(Int64(1_000 - number)), isDeferrable: number % 2 == 0, instead: &scheduled)
        }
        let valid = scheduled
        timers.prune(peerCount: 1) { instant, _ in instant == valid }
        #expect(timers.punctual.count == 50 && timers.deferrable.count == 50)
        for number in 100..<250 {
            timers.schedule(.viewer(0), at: after(Int64(1_000 - number)), isDeferrable: false, instead: &scheduled)
        }
        let latest = scheduled
        timers.prune(peerCount: 1) { instant, _ in instant == latest }
        #expect(timers.punctual.count == 1 && timers.deferrable.count == 50)
        #expect(timers.pop(until: after(1_000))?.instant == latest)
    }
}

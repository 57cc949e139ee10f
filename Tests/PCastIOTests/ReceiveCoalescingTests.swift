import PCastCore
import Testing

@testable import PCastIO

@Suite("The timing of deferred reading")
struct ReadingPaceTests {
    private var pace = ReceiveCoalescing(interval: .milliseconds(10), timeout: .milliseconds(40))

    private func at(_ milliseconds: Double) -> Instant {
        Instant(nanoseconds: 1_000_000_000 + Int64(milliseconds * 1_000_000))
    }

    @Test("a few datagrams are read at once, and the kernel notifies again")
    mutating func little() {
        for time in [3.0, 17, 400] {
            #expect(pace.due == nil)
            pace.arrived(at: at(time))
            #expect(pace.isDue(at: at(time)))
            #expect(pace.read(1, at: at(time)) == true)
        }
    }

    @Test("datagrams are not read more often than the interval allows")
    mutating func soonAgain() {
        pace.arrived(at: at(3))
        _ = pace.read(2, at: at(3))
        pace.arrived(at: at(4))
        #expect(!pace.isDue(at: at(12.9)) && pace.due == at(13) && pace.isDue(at: at(13)))
        // The kernel notifies once, and a second notification has no effect.
        pace.arrived(at: at(8))
        #expect(pace.due == at(13))
        #expect(pace.read(3, at: at(13)) == true)
        #expect(pace.due == nil)
    }

    @Test("many datagrams are read by a thread that is awake after the interval, or by the timer")
    mutating func much() {
        pace.arrived(at: at(3))
        #expect(pace.read(ReceiveCoalescing.many, at: at(3)) == false)
        #expect(pace.due == at(43) && !pace.isDue(at: at(12.9)) && pace.isDue(at: at(13)))
        #expect(pace.read(40, at: at(20)) == false)
        #expect(pace.due == at(60) && !pace.isDue(at: at(29.9)) && pace.isDue(at: at(30)))
        // After a long suspension the omitted readings are not repeated.
        #expect(pace.read(400, at: at(155)) == false)
        #expect(pace.due == at(195))
    }

    @Test("after many datagrams the timer continues for a while, and then the kernel notifies again")
    mutating func between() {
        pace.arrived(at: at(3))
        _ = pace.read(ReceiveCoalescing.many, at: at(3))
        for time in [36.0, 69, 102, 135, 168, 201] {
            #expect(pace.read(ReceiveCoalescing.many - 1, at: at(time)) == false)
            #expect(pace.due == at(time + 40))
        }
        #expect(pace.read(0, at: at(203)) == true)
        #expect(pace.due == nil && !pace.isDue(at: at(1_000)))
    }

    @Test("datagrams that could not be read in time are read sooner")
    mutating func more() {
        pace.arrived(at: at(3))
        #expect(pace.read(4_000, hasMore: true, at: at(3)) == false)
        #expect(pace.due == at(13))
    }
}

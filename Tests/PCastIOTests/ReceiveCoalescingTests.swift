import PCastCore
import Testing

@testable import PCastIO

@Suite("When what may wait is read")
struct ReadingPaceTests {
    private var pace = ReceiveCoalescing(interval: .milliseconds(10), timeout: .milliseconds(40))

    private func at(_ milliseconds: Double) -> Instant {
        Instant(nanoseconds: 1_000_000_000 + Int64(milliseconds * 1_000_000))
    }

    @Test("Where little comes it is read at once, and the kernel is to tell again")
    mutating func little() {
        for time in [3.0, 17, 400] {
            #expect(pace.due == nil)
            pace.arrived(at: at(time))
            #expect(pace.isDue(at: at(time)))
            #expect(pace.read(1, at: at(time)) == true)
        }
    }

    @Test("It is not read more often than the interval allows")
    mutating func soonAgain() {
        pace.arrived(at: at(3))
        _ = pace.read(2, at: at(3))
        pace.arrived(at: at(4))
        #expect(!pace.isDue(at: at(12.9)) && pace.due == at(13) && pace.isDue(at: at(13)))
        // The kernel tells once; nothing comes of a second time.
        pace.arrived(at: at(8))
        #expect(pace.due == at(13))
        #expect(pace.read(3, at: at(13)) == true)
        #expect(pace.due == nil)
    }

    @Test("Where much comes it is read by who is awake after the interval, or by the clock")
    mutating func much() {
        pace.arrived(at: at(3))
        #expect(pace.read(ReceiveCoalescing.many, at: at(3)) == false)
        #expect(pace.due == at(43) && !pace.isDue(at: at(12.9)) && pace.isDue(at: at(13)))
        #expect(pace.read(40, at: at(20)) == false)
        #expect(pace.due == at(60) && !pace.isDue(at: at(29.9)) && pace.isDue(at: at(30)))
        // A thread that was away for long does not make up for what it left out.
        #expect(pace.read(400, at: at(155)) == false)
        #expect(pace.due == at(195))
    }

    @Test("After much the clock goes on telling for a while, though little comes; then the kernel tells again")
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

    @Test("What could not be read for want of time is read sooner")
    mutating func more() {
        pace.arrived(at: at(3))
        #expect(pace.read(4_000, hasMore: true, at: at(3)) == false)
        #expect(pace.due == at(13))
    }
}

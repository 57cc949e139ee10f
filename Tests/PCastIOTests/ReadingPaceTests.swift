import PCastMedia
import Testing

@testable import PCastIO

@Suite("When what may wait is read")
struct ReadingPaceTests {
    private var pace = ReadingPace(interval: .milliseconds(10))

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
        #expect(!pace.isDue(at: at(9.9)) && pace.due == at(10))
        // The kernel tells once; nothing comes of a second time.
        pace.arrived(at: at(8))
        #expect(pace.due == at(10))
        #expect(pace.read(3, at: at(10)) == true)
        #expect(pace.due == nil)
    }

    @Test("Where much comes the clock tells, until it is little again")
    mutating func much() {
        pace.arrived(at: at(3))
        #expect(pace.read(ReadingPace.many, at: at(3)) == false)
        #expect(pace.due == at(10))
        #expect(pace.read(40, at: at(10.2)) == false)
        #expect(pace.due == at(20))
        // A thread that was away for long does not make up for what it left out.
        #expect(pace.read(400, at: at(55)) == false)
        #expect(pace.due == at(60))
        #expect(pace.read(ReadingPace.many - 1, at: at(60)) == true)
        #expect(pace.due == nil)
    }
}

import PCastCore
import Testing

@testable import PCastHLS

@Suite("The clock of an HLS encoder")
struct EncoderClockTests {
    /// Returns the comparison after playlists whose media ends the given numbers of seconds after `Date`.
    private static func clock(ending distances: [Double], allowance: Double = 6) -> EncoderClock {
        var clock = EncoderClock()
        for (index, distance) in distances.enumerated() {
            let date = Double(index) * 4
            clock.observe(end: wall(date + distance), served: wall(date), allowance: seconds(allowance))
        }
        return clock
    }

    @Test("without a playlist, the difference is unknown, and nobody is reported")
    func unknown() {
        #expect(EncoderClock().difference == nil && !EncoderClock().isOff)
    }

    @Test("an encoder that publishes media of the future is ahead at least by that time, which Date rounds")
    func ahead() {
        #expect(Self.clock(ending: [-2, -1.5, 4.5]).difference == seconds(3.5))
        #expect(Self.clock(ending: [1.3]).isOff)
        #expect(!Self.clock(ending: [1.2]).isOff && Self.clock(ending: [0.9]).difference == .zero)
    }

    @Test("an encoder is behind only by the time that publishing cannot have taken")
    func behind() {
        #expect(Self.clock(ending: [-12, -9, -14]).difference == seconds(-3))
        #expect(Self.clock(ending: [-12, -6.1]).isOff == false)
        #expect(Self.clock(ending: [-12, -6]).difference == .zero)
    }

    @Test("a clock that is corrected is measured again")
    func corrected() {
        let distances = [30.0] + Array(repeating: -1, count: EncoderClock.capacity)
        #expect(Self.clock(ending: distances).difference == .zero)
    }

    @Test("the end of a live playlist is compared with Date, including its partial segments")
    func playlist() throws {
        let lines = """
            #EXT-X-TARGETDURATION:4
            #EXT-X-PART-INF:PART-TARGET=1
            #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=3
            #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z
            #EXTINF:4,
            1.mp4
            #EXT-X-PART:DURATION=1,URI="2.1.mp4"
            #EXT-X-PART:DURATION=1,URI="2.2.mp4"

            """
        var clock = EncoderClock()
        clock.observe(PlaylistTimeline(try media(lines)), served: wall(2))
        #expect(clock.difference == seconds(3), "6 s of media, and Date is 2 to 3 s")
        clock = EncoderClock()
        clock.observe(PlaylistTimeline(try media(lines)), served: wall(8))
        #expect(clock.difference == seconds(-0.5), "parts are published within one and a half of their durations")
        clock = EncoderClock()
        let complete = """
            #EXT-X-TARGETDURATION:4
            #EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z
            #EXTINF:4,
            1.mp4
            #EXT-X-ENDLIST

            """
        clock.observe(PlaylistTimeline(try media(complete)), served: wall(0))
        #expect(clock.difference == nil, "a playlist on demand has no clock to compare")
    }

    @Test("times that no clock has do not trap")
    func bounds() {
        var clock = EncoderClock()
        let (first, last) = (WallTime(nanosecondsSinceEpoch: .min), WallTime(nanosecondsSinceEpoch: .max))
        for (end, date) in [(first, last), (last, first), (last, last)] {
            clock.observe(end: end, served: date, allowance: TimeSpan(nanoseconds: .max))
            #expect(clock.difference != nil)
        }
    }
}

import PCastRTP
import PCastTestSupport
import Testing

@Suite struct SequenceUnwrapperTests {
    @Test("sequence numbers continue beyond 2^16, and late ones remain before it")
    func wraps() {
        var unwrapper = SequenceUnwrapper()
        let first = unwrapper.unwrap(65_534)
        #expect(first == SequenceUnwrapper.origin + 65_534)
        #expect(unwrapper.unwrap(1) == first + 3)
        #expect(unwrapper.peek(65_535) == first + 1)
        #expect(unwrapper.unwrap(65_535) == first + 1)
        #expect(unwrapper.unwrap(0) == first + 2)
        #expect(unwrapper.last == first + 2)
    }

    @Test("timestamps continue beyond 2^32")
    func timestampsWrap() {
        var unwrapper = TimestampUnwrapper()
        let first = unwrapper.unwrap(0xFFFF_F000)
        #expect(first == TimestampUnwrapper.origin + 0xFFFF_F000)
        #expect(unwrapper.unwrap(0x0000_0800) == first + 0x1800)
        #expect(unwrapper.peek(0xFFFF_FFFF) == first + 0xFFF)
    }

    @Test("a packet before the first is not negative")
    func beforeTheFirst() {
        var unwrapper = SequenceUnwrapper()
        #expect(unwrapper.unwrap(0) == SequenceUnwrapper.origin)
        #expect(unwrapper.unwrap(65_535) == SequenceUnwrapper.origin - 1)
    }

    @Test("a long sequence with reordering is unwrapped correctly")
    func randomWalk() {
        var generator = SeededGenerator(seed: 1)
        var unwrapper = SequenceUnwrapper()
        let start = unwrapper.unwrap(60_000)
        var truth = start
        for _ in 0..<20_000 {
            truth = max(start, truth + Int64.random(in: -1000...2000, using: &generator))
            #expect(unwrapper.unwrap(UInt16(truncatingIfNeeded: truth)) == truth)
        }
    }
}

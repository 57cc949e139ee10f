import PCastCore
import Testing

@testable import PCastPlatform

/// How often who may come; all on virtual time.
@Suite struct TokenBucketsTests {
    private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("Five seconds' worth may come at once, then as many a second as the rate says") func rate() {
        var buckets = TokenBuckets<Int>()
        var burst = 0
        for _ in 0..<100 where buckets.take(1, perSecond: 10, at: time(0)) == nil { burst += 1 }
        #expect(burst == 50)
        var taken = 0
        for millisecond in 1...10_000 where buckets.take(1, perSecond: 10, at: time(Int64(millisecond))) == nil {
            taken += 1
        }
        #expect(taken == 100)
    }

    @Test("Who is refused is told how long to wait, and is let in then") func wait() {
        var buckets = TokenBuckets<Int>()
        while buckets.take(1, perSecond: 4, at: time(0)) == nil {}
        let wait = buckets.take(1, perSecond: 4, at: time(0))
        #expect(wait == .milliseconds(250))
        let early = buckets.take(1, perSecond: 4, at: time(249))
        let late = buckets.take(1, perSecond: 4, at: time(250))
        #expect(early != nil && late == nil)
    }

    @Test("One who asks too often takes nothing from the others") func others() {
        var buckets = TokenBuckets<Int>()
        for _ in 0..<10_000 { _ = buckets.take(1, perSecond: 10, at: time(0)) }
        let other = buckets.take(2, perSecond: 10, at: time(0))
        #expect(other == nil)
    }

    @Test("A million addresses are not remembered: those that have rested go, and newcomers share what is left")
    func bounded() {
        var buckets = TokenBuckets<Int>(capacity: 1_000)
        var first = 0
        for key in 0..<1_000_000 where buckets.take(key, perSecond: 10, at: time(0)) == nil { first += 1 }
        #expect(buckets.count == 1_000)
        #expect(first == 1_000 + 50)
        // Ten a second: after a tenth of a second the thousand are as if they had never come.
        var later = 0
        for key in 0..<1_000 where buckets.take(2_000_000 + key, perSecond: 10, at: time(1_100)) == nil { later += 1 }
        #expect(later == 1_000 && buckets.count == 1_000)
    }

    @Test("No rate lets nobody in") func closed() {
        var buckets = TokenBuckets<Int>()
        let wait = buckets.take(1, perSecond: 0, at: time(0))
        #expect(wait != nil)
    }

    @Test("An IPv6 network of 64 bits is one, an IPv4 address is one") func blocks() {
        func block(_ text: String) -> AddressBlock { AddressBlock(IPAddress(text)) }
        #expect(block("2001:db8:1:2::3") == block("2001:db8:1:2:ffff::1"))
        #expect(block("2001:db8:1:2::3") != block("2001:db8:1:3::3"))
        #expect(block("192.0.2.1") != block("192.0.2.2"))
        #expect(block("::ffff:192.0.2.1") == block("192.0.2.1"))
        #expect(block("::1") != block("127.0.0.1"))
    }
}

import PCastCore
import Testing

@testable import PCastPlatform

/// Rate limits on virtual time.
@Suite struct TokenBucketsTests {
    private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("five seconds' worth is allowed at once, and then the rate") func rate() {
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

    @Test("a rejected client receives a waiting time, and is then admitted") func wait() {
        var buckets = TokenBuckets<Int>()
        while buckets.take(1, perSecond: 4, at: time(0)) == nil {}
        let wait = buckets.take(1, perSecond: 4, at: time(0))
        #expect(wait == .milliseconds(250))
        let early = buckets.take(1, perSecond: 4, at: time(249))
        let late = buckets.take(1, perSecond: 4, at: time(250))
        #expect(early != nil && late == nil)
    }

    @Test("a client with too many requests does not affect others") func others() {
        var buckets = TokenBuckets<Int>()
        for _ in 0..<10_000 { _ = buckets.take(1, perSecond: 10, at: time(0)) }
        let other = buckets.take(2, perSecond: 10, at: time(0))
        #expect(other == nil)
    }

    @Test("a million addresses are not kept: recovered ones are removed, and new ones share the rest")
    func bounded() {
        var buckets = TokenBuckets<Int>(capacity: 1_000)
        var first = 0
        for key in 0..<1_000_000 where buckets.take(key, perSecond: 10, at: time(0)) == nil { first += 1 }
        #expect(buckets.count == 1_000)
        #expect(first == 1_000 + 50)
        // At ten per second, the thousand have recovered after a tenth of a second.
        var later = 0
        for key in 0..<1_000 where buckets.take(2_000_000 + key, perSecond: 10, at: time(1_100)) == nil { later += 1 }
        #expect(later == 1_000 && buckets.count == 1_000)
    }

    @Test("a rate of zero admits no client") func closed() {
        var buckets = TokenBuckets<Int>()
        let wait = buckets.take(1, perSecond: 0, at: time(0))
        #expect(wait != nil)
    }

    @Test("an IPv6 network of 64 bits counts as one client, as an IPv4 address does") func blocks() {
        func block(_ text: String) -> AddressBlock { AddressBlock(IPAddress(text)) }
        #expect(block("2001:db8:1:2::3") == block("2001:db8:1:2:ffff::1"))
        #expect(block("2001:db8:1:2::3") != block("2001:db8:1:3::3"))
        #expect(block("192.0.2.1") != block("192.0.2.2"))
        #expect(block("::ffff:192.0.2.1") == block("192.0.2.1"))
        #expect(block("::1") != block("127.0.0.1"))
    }
}

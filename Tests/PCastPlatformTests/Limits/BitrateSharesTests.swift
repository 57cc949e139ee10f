import PCastCore
import Testing

@testable import PCastPlatform

/// The shares of bit rate among applications and addresses.
@Suite struct BitrateSharesTests {
    private let first = ApplicationID("first")
    private let second = ApplicationID("second")
    private let here = AddressBlock(IPAddress("192.0.2.1"))
    private let there = AddressBlock(IPAddress("192.0.2.2"))

    private func limits(_ values: [PlatformLimits.Name: Int64]) -> PlatformLimits {
        var limits = PlatformLimits()
        for (name, value) in values { limits[name] = value }
        return limits
    }

    @Test("without limits no client is limited") func none() {
        var shares = BitrateShares()
        shares.enter(StreamID("a"), first, here)
        #expect(shares.shares(in: PlatformLimits()) == [StreamID("a"): nil])
        #expect(shares.exceeded(first, here, in: PlatformLimits()) == nil)
    }

    @Test("the lowest limit applies, shared among its clients") func shared() {
        var shares = BitrateShares()
        shares.enter(StreamID("a"), first, here)
        shares.enter(StreamID("b"), first, there)
        shares.enter(StreamID("c"), second, there)
        let bounds = limits([
            .bitrate: 9_000_000, .bitratePerApplication: 4_000_000, .bitratePerAddress: 5_000_000,
            .bitratePerStream: 2_800_000,
        ])
        let got = shares.shares(in: bounds).mapValues { $0?.bitsPerSecond }
        #expect(got == [StreamID("a"): 2_000_000, StreamID("b"): 2_000_000, StreamID("c"): 2_500_000])
        shares.leave(StreamID("b"))
        #expect(
            shares.shares(in: bounds).mapValues { $0?.bitsPerSecond }
                == [StreamID("a"): 2_800_000, StreamID("c"): 2_800_000])
    }

    @Test("a share of zero rejects the client") func shareOfZero() {
        var shares = BitrateShares()
        let bounds = limits([.bitratePerApplication: 200_000])
        for number in 0..<3 {
            #expect(shares.exceeded(first, here, in: bounds) == nil)
            shares.enter(StreamID("\(number)"), first, here)
        }
        #expect(shares.exceeded(first, here, in: bounds) == .bitratePerApplication)
        #expect(shares.exceeded(second, here, in: bounds) == nil)
        for number in 0..<3 { shares.leave(StreamID("\(number)")) }
        shares.leave(StreamID("nobody"))
        #expect(shares.exceeded(first, here, in: bounds) == nil)
    }

    @Test("the limit of a stream key is a limit of its streams only")
    func keys() {
        var shares = BitrateShares()
        shares.enter(StreamID("a"), first, here, limit: .kilobits(500))
        shares.enter(StreamID("b"), first, here)
        #expect(shares.shares(in: limits([:])) == [StreamID("a"): .kilobits(500), StreamID("b"): nil])
        let changes = shares.changes(by: limits([:]))
        #expect(changes.count == 2)
        let common = shares.shares(in: limits([.bitrate: 600_000]))
        #expect(common == [StreamID("a"): .kilobits(300), StreamID("b"): .kilobits(300)])
    }
}

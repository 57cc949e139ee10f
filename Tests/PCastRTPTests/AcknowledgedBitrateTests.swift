import PCastCore
import Testing

@testable import PCastRTP

@Suite("The rate at which packets arrive, as the peer reports")
struct AcknowledgedBitrateTests {
    @Test(
        "the arrivals of the last 100 ms are known for any state of the peer's clock",
        arguments: [-500_000, -100, 0, 100, 500_000] as [Int64])
    func fastestOfAnyClock(begin: Int64) throws {
        var acknowledged = AcknowledgedBitrate()
        for clock in [begin, begin - 60] {
            for packet in 0..<2_000 {
                acknowledged.arrived(size: 1_250, at: .seconds(clock) + .milliseconds(Int64(packet) * 10))
            }
            // 1 Mbit/s. The first half of a period may be all that has arrived.
            let fastest = try #require(acknowledged.fastest)
            #expect(fastest >= .kilobits(950) && fastest <= .kilobits(1_150))
        }
    }
}

import PCastCore
import Testing

@testable import PCastRTP

@Suite struct ArrivalGroupsTests {
    private func at(_ milliseconds: Double) -> Instant { Instant(nanoseconds: Int64(milliseconds * 1e6)) }
    private func after(_ milliseconds: Double) -> TimeSpan { TimeSpan(nanoseconds: Int64(milliseconds * 1e6)) }

    @Test("packets sent within 5 ms form one group, and two complete groups are compared")
    func groups() {
        var groups = ArrivalGroups()
        #expect(groups.arrived(sentAt: at(0), arrival: after(100)) == nil)
        #expect(groups.arrived(sentAt: at(4), arrival: after(106)) == nil)
        #expect(groups.arrived(sentAt: at(20), arrival: after(130)) == nil)
        #expect(groups.arrived(sentAt: at(23), arrival: after(138)) == nil)
        #expect(
            groups.arrived(sentAt: at(40), arrival: after(160)) == .init(send: after(19), arrival: after(32)))
    }

    @Test("packets that a bottleneck releases in one burst form one group, for at most 100 ms")
    func burst() {
        var groups = ArrivalGroups()
        // The packets are sent 20 ms apart and arrive 1 ms apart after a stall.
        for index in 0..<90 {
            let delta = groups.arrived(sentAt: at(Double(index) * 20), arrival: after(2_000 + Double(index)))
            #expect(delta == nil)
        }
        var deltas = 0
        for index in 90..<250 {
            let delta = groups.arrived(sentAt: at(Double(index) * 20), arrival: after(2_000 + Double(index)))
            if delta != nil { deltas += 1 }
        }
        #expect(deltas > 0 && deltas < 20)
    }

    @Test("reordered packets and a jump of the clock give no measurement")
    func disorder() {
        var groups = ArrivalGroups()
        _ = groups.arrived(sentAt: at(100), arrival: after(100))
        #expect(groups.arrived(sentAt: at(50), arrival: after(110)) == nil)
        _ = groups.arrived(sentAt: at(120), arrival: after(120))
        #expect(groups.arrived(sentAt: at(140), arrival: after(9_140)) == .init(send: after(20), arrival: after(20)))
        #expect(groups.arrived(sentAt: at(160), arrival: after(9_160)) == nil)
    }
}

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

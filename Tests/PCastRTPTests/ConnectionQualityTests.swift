import PCastCore
import PCastRTP
import Testing

@Suite("The data quality that a client reports")
struct ConnectionQualityTests {
    /// Updates the machine every quarter of a second.
    private static func run(
        _ machine: inout ConnectionQuality, seconds: Double, from now: inout Instant, lastReceivedAt: Instant?,
        packets: inout Int, perLook: Int
    ) -> [DataQuality] {
        var rows: [DataQuality] = []
        let end = now + TimeSpan(seconds: seconds)
        while now < end {
            now += .milliseconds(250)
            packets += perLook
            let heard = lastReceivedAt ?? now
            if let row = machine.observe(.init(lastReceivedAt: heard, packetsSent: packets), at: now) {
                rows.append(row)
            }
        }
        return rows
    }

    @Test("the platform's report applies while packets arrive")
    func platform() {
        var machine = ConnectionQuality(.viewer)
        var now = Instant(nanoseconds: 0)
        var packets = 0
        #expect(machine.setPlatformQuality(.row(.audioOnly, .downloadLimited)) == .row(.audioOnly, .downloadLimited))
        #expect(machine.setPlatformQuality(.row(.audioOnly, .downloadLimited)) == nil)
        #expect(Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 0).isEmpty)
        #expect(machine.setPlatformQuality(.good) == .good)
    }

    @Test("no packet for 1.5 s is NoData, and the platform's report applies again afterwards")
    func silence() {
        for role in [ConnectionQuality.Role.publisher, .viewer] {
            var machine = ConnectionQuality(role)
            var now = Instant(nanoseconds: 0)
            var packets = 0
            _ = machine.setPlatformQuality(.row(.all, .publisherLimited))
            _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
            let cut = now
            #expect(
                Self.run(&machine, seconds: 1.25, from: &now, lastReceivedAt: cut, packets: &packets, perLook: 10)
                    .isEmpty)
            #expect(
                Self.run(&machine, seconds: 0.5, from: &now, lastReceivedAt: cut, packets: &packets, perLook: 10)
                    == [.row(.noData, .none)])
            #expect(
                Self.run(&machine, seconds: 1, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
                    == [.row(.all, .publisherLimited)])
        }
    }

    @Test("if the link was limited before the silence, that is its reason")
    func limitedBefore() {
        let limits: [(ConnectionQuality.Role, DataQuality.Reason)] = [
            (.publisher, .uploadLimited), (.viewer, .downloadLimited),
        ]
        for (role, limit) in limits {
            var machine = ConnectionQuality(role)
            var now = Instant(nanoseconds: 0)
            var packets = 0
            _ = machine.setPlatformQuality(.row(.audioOnly, limit))
            _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
            let cut = now
            #expect(
                Self.run(&machine, seconds: 20, from: &now, lastReceivedAt: cut, packets: &packets, perLook: 0)
                    == [.row(.noData, limit)])
            // The platform's status still counts if it arrives on another path.
            _ = machine.setPlatformQuality(.row(.noData, .publisherLimited))
            #expect(machine.quality == .row(.noData, .publisherLimited))
            _ = machine.setPlatformQuality(.row(.all, limit))
            #expect(
                Self.run(&machine, seconds: 1, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
                    .last == .row(.all, limit))
            // When there is no limit any more, a silence has no known cause.
            _ = machine.setPlatformQuality(.good)
            let second = now
            #expect(
                Self.run(&machine, seconds: 2, from: &now, lastReceivedAt: second, packets: &packets, perLook: 10)
                    == [.row(.noData, .none)])
        }
    }

    @Test("a publisher that sends all the time and is not received has an uplink loss")
    func uplink() {
        var machine = ConnectionQuality(.publisher)
        var now = Instant(nanoseconds: 0)
        var packets = 0
        _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
        #expect(machine.setPlatformQuality(.row(.noData, .none)) == .row(.noData, .uploadLimited))
    }

    @Test("a publisher that sends nothing, or was suspended, has an unknown cause")
    func nothingSent() {
        var machine = ConnectionQuality(.publisher)
        var now = Instant(nanoseconds: 0)
        var packets = 0
        _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10)
        _ = Self.run(&machine, seconds: 2, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 0)
        #expect(machine.setPlatformQuality(.row(.noData, .none)) == .row(.noData, .none))
        now += .seconds(10 as Int64)
        #expect(
            Self.run(&machine, seconds: 0.75, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 10).isEmpty)
    }

    @Test("if both sides of a viewer receive nothing, the downlink is the cause")
    func downlink() {
        var machine = ConnectionQuality(.viewer)
        var now = Instant(nanoseconds: 0)
        var packets = 0
        _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 0)
        let cut = now
        _ = Self.run(&machine, seconds: 2, from: &now, lastReceivedAt: cut, packets: &packets, perLook: 0)
        #expect(machine.quality == .row(.noData, .none))
        #expect(machine.setPlatformQuality(.row(.noData, .none)) == .row(.noData, .downloadLimited))
        #expect(machine.setPlatformQuality(.row(.noData, .publisherLimited)) == .row(.noData, .publisherLimited))
    }

    @Test("a client that was suspended waits for packets before it decides")
    func suspendedClient() {
        var machine = ConnectionQuality(.viewer)
        var now = Instant(nanoseconds: 0)
        var packets = 0
        _ = Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 0)
        let before = now
        now += .seconds(10 as Int64)
        #expect(machine.observe(.init(lastReceivedAt: before, packetsSent: 0), at: now) == nil)
        #expect(Self.run(&machine, seconds: 5, from: &now, lastReceivedAt: nil, packets: &packets, perLook: 0).isEmpty)
    }

    @Test("before the connection is up, silence has no meaning")
    func before() {
        var machine = ConnectionQuality(.viewer)
        for second in 0..<30 {
            let row = machine.observe(
                .init(lastReceivedAt: nil, packetsSent: 0), at: Instant(nanoseconds: Int64(second) * 1_000_000_000))
            #expect(row == nil)
        }
    }
}

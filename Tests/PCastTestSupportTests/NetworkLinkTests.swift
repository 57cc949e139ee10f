import PCastCore
import PCastTestSupport
import Testing

struct NetworkLinkTests {
    private static let start = Instant(nanoseconds: 5_000_000_000)

    /// Sends numbered packets at a constant rate. Returns each arrival in order.
    private func arrivals(
        of count: Int, each interval: TimeSpan, size: Int = 1_000, through link: inout NetworkLink<Int>
    ) -> [(number: Int, after: TimeSpan)] {
        var arrivals: [(Int, TimeSpan)] = []
        for number in 0..<count {
            let now = Self.start + interval * Int64(number)
            drain(&link, until: now, into: &arrivals)
            link.send(number, size: size, at: now)
        }
        drain(&link, until: Self.start + .seconds(3_600), into: &arrivals)
        return arrivals
    }

    /// Drains the link like a driver, at each deadline.
    private func drain(
        _ link: inout NetworkLink<Int>, until end: Instant, into arrivals: inout [(Int, TimeSpan)]
    ) {
        while let deadline = link.deadline, deadline <= end {
            while let number = link.receive(at: deadline) { arrivals.append((number, deadline - Self.start)) }
        }
    }

    private func link(_ conditions: LinkConditions, seed: UInt64 = 1) -> NetworkLink<Int> {
        NetworkLink(conditions, seed: seed, at: Self.start)
    }

    @Test("a perfect link delivers at once and in order")
    func perfect() {
        var link = link(.perfect)
        let arrivals = arrivals(of: 100, each: .milliseconds(1), through: &link)
        #expect(arrivals.map(\.number) == Array(0..<100))
        #expect(arrivals.allSatisfy { $0.after == .milliseconds(Int64($0.number)) })
        #expect(link.deadline == nil)
    }

    @Test("random loss has the given rate, and consecutive losses only by chance")
    func randomLoss() {
        var link = link(LinkConditions(loss: .random(0.1)))
        let arrived = Set(arrivals(of: 50_000, each: .milliseconds(1), through: &link).map(\.number))
        let share = 1 - Double(arrived.count) / 50_000
        #expect(abs(share - 0.1) < 0.006)
        #expect(abs(Self.burstLength(of: arrived, in: 50_000) - 1 / 0.9) < 0.05)
        #expect(link.statistics.lost == 50_000 - arrived.count)
    }

    @Test("bursts by Gilbert and Elliott have the given rate and length")
    func bursts() {
        let model = GilbertElliott(share: 0.05, length: 4)
        #expect(abs(model.share - 0.05) < 1e-12)
        var link = link(LinkConditions(loss: .bursts(model)))
        let arrived = Set(arrivals(of: 100_000, each: .milliseconds(1), through: &link).map(\.number))
        #expect(abs(1 - Double(arrived.count) / 100_000 - 0.05) < 0.008)
        #expect(abs(Self.burstLength(of: arrived, in: 100_000) - 4) < 0.4)
    }

    private static func burstLength(of arrived: Set<Int>, in count: Int) -> Double {
        let lost = (0..<count).filter { !arrived.contains($0) }
        let bursts = lost.filter { $0 == 0 || arrived.contains($0 - 1) }
        return Double(lost.count) / Double(bursts.count)
    }

    @Test("jitter spreads arrivals, with or without reordering", arguments: [true, false])
    func jitter(reorders: Bool) {
        var link = link(
            LinkConditions(delay: .milliseconds(20), jitter: .milliseconds(10), reorders: reorders))
        let arrivals = arrivals(of: 2_000, each: .milliseconds(2), through: &link)
        let delays = arrivals.map { $0.after - .milliseconds(2) * Int64($0.number) }
        #expect(delays.allSatisfy { $0 >= .milliseconds(20) && $0 <= .milliseconds(30) })
        #expect(delays.contains { $0 < .milliseconds(21) } && delays.contains { $0 > .milliseconds(29) })
        let isOrdered = zip(arrivals, arrivals.dropFirst()).allSatisfy { $0.number < $1.number }
        #expect(isOrdered != reorders)
    }

    @Test("a rate spaces packets, and a full queue drops them")
    func rateAndQueue() {
        // 1000 bytes every 2 ms are 4 Mbit/s, twice the rate of the link. The queue is 50 ms, which are 12.5 packets.
        var link = link(LinkConditions(rate: .kilobits(2_000), queue: .span(.milliseconds(50))))
        let arrivals = arrivals(of: 1_000, each: .milliseconds(2), through: &link)
        let gaps = zip(arrivals.dropFirst(100), arrivals.dropFirst(101)).map { $1.after - $0.after }
        #expect(gaps.allSatisfy { $0 == .milliseconds(4) })
        #expect(abs(arrivals.count - 512) < 4)
        #expect(link.statistics.overflowed == 1_000 - arrivals.count)
        #expect(link.statistics.largestBacklog <= 12_500)
        let wait = link.takeLongestWait()
        #expect(wait > .milliseconds(44) && wait <= .milliseconds(54))
        #expect(link.takeLongestWait() == .zero)
    }

    @Test("a schedule changes the rate while packets wait: 4, then 0.8, then 4 Mbit/s")
    func schedule() {
        let wide = LinkConditions(rate: .kilobits(4_000), queue: .bytes(1 << 20))
        let schedule = LinkSchedule(wide).changed(at: .seconds(1)) { $0.rate = .kilobits(800) }
            .changed(at: .seconds(2)) { $0.rate = .kilobits(4_000) }
        var link = NetworkLink<Int>(schedule, seed: 1, at: Self.start)
        // 2 Mbit/s.
        let arrivals = arrivals(of: 1_000, each: .milliseconds(4), through: &link)
        func count(_ from: Int64, _ to: Int64) -> Int {
            arrivals.count { $0.after >= .milliseconds(from) && $0.after < .milliseconds(to) }
        }
        #expect(abs(count(0, 1_000) - 250) <= 1)
        #expect(abs(count(1_000, 2_000) - 100) <= 1)
        #expect(abs(count(2_010, 2_110) - 50) <= 1)
        #expect(arrivals.count == 1_000)
    }

    @Test("a stall delays everything for its time and then delivers it at once")
    func stall() {
        var link = link(LinkConditions(stall: Stall(.milliseconds(200), each: .seconds(5))))
        let arrivals = arrivals(of: 1_000, each: .milliseconds(10), through: &link)
        #expect(arrivals.map(\.number) == Array(0..<1_000))
        for (number, after) in arrivals {
            let place = number % 500
            let end = TimeSpan.seconds(5) * Int64(number / 500 + 1)
            #expect(after == (place >= 480 ? end : .milliseconds(10) * Int64(number)))
        }
    }

    @Test("duplicates have the given rate, too large packets vanish, and none passes while down")
    func others() {
        var double = link(LinkConditions(duplication: 0.25))
        #expect(abs(arrivals(of: 10_000, each: .milliseconds(1), through: &double).count - 12_500) < 200)

        var narrow = link(LinkConditions(maximumPacketSize: 1_280))
        #expect(arrivals(of: 10, each: .milliseconds(1), size: 1_281, through: &narrow).isEmpty)
        #expect(arrivals(of: 10, each: .milliseconds(1), size: 1_280, through: &narrow).count == 10)
        #expect(narrow.statistics.oversized == 10 && narrow.statistics.largestPacket == 1_281)

        var cut = NetworkLink<Int>(
            LinkSchedule(.perfect).changed(at: .milliseconds(100)) { $0.isDown = true }
                .changed(at: .milliseconds(200)) { $0.isDown = false }, seed: 1, at: Self.start)
        let numbers = arrivals(of: 300, each: .milliseconds(1), through: &cut).map(\.number)
        #expect(numbers == Array(0..<100) + Array(200..<300))
    }

    @Test("segments of a connection keep their order, and wait while the link is down")
    func reliable() {
        var link = NetworkLink<Int>(
            LinkSchedule(LinkConditions(delay: .milliseconds(5), jitter: .milliseconds(50), loss: .random(0.5)))
                .changed(at: .milliseconds(100)) { $0.isDown = true }
                .changed(at: .milliseconds(300)) { $0.isDown = false }, seed: 3, at: Self.start)
        for number in 0..<200 {
            let now = Self.start + .milliseconds(Int64(number))
            link.send(number, size: 100, isReliable: true, at: now)
        }
        var arrivals: [(Int, TimeSpan)] = []
        drain(&link, until: Self.start + .seconds(10), into: &arrivals)
        #expect(arrivals.map(\.0) == Array(0..<200))
        #expect(arrivals[150].1 >= .milliseconds(300))
        #expect(link.statistics.lost == 0)
    }

    @Test("the same seed and packets have the same result, and another seed another one")
    func seeds() {
        func run(_ seed: UInt64) -> [Int] {
            var link = link(
                LinkConditions(
                    jitter: .milliseconds(9), loss: .bursts(GilbertElliott(share: 0.2, length: 3)), duplication: 0.1,
                    rate: .kilobits(6_000)), seed: seed)
            return arrivals(of: 500, each: .milliseconds(1), through: &link).map(\.number)
        }
        #expect(run(7) == run(7))
        #expect(run(7) != run(8))
    }
}

import PCastCore

/// A download like that of TCP Reno: a window that grows by a packet per round trip and is halved by loss.
struct LossBasedFlow {
    let index: Int
    private(set) var arrivedBytes = 0

    private var window = 10.0
    private var threshold = Double.infinity
    private var inFlight = 0
    private var next: UInt16 = 0
    private var expected: UInt16 = 0
    private var acknowledgements: [(at: Instant, lost: Int)] = []
    private var halvedAt = Instant(nanoseconds: -1_000_000_000)
    private var lastReceivedAt = Instant(nanoseconds: 0)

    init(index: Int) { self.index = index }

    mutating func advance(to now: Instant, link: inout CongestionLink) {
        while let first = acknowledgements.first, first.at <= now {
            acknowledgements.removeFirst()
            lastReceivedAt = now
            inFlight = max(inFlight - 1 - first.lost, 0)
            if first.lost > 0 {
                if now - halvedAt > .milliseconds(200) {
                    halvedAt = now
                    window = max(window / 2, 2)
                    threshold = window
                }
            } else {
                window += window < threshold ? 1 : 1 / window
            }
        }
        // All packets of a window were lost.
        if now - lastReceivedAt > .seconds(Int64(1)) {
            lastReceivedAt = now
            inFlight = 0
            window = 2
        }
        while inFlight < Int(window) {
            link.send(.init(flow: index, number: next, size: 1_500, sentAt: now))
            next &+= 1
            inFlight += 1
        }
    }

    mutating func arrived(_ packet: CongestionLink.Packet, at now: Instant, delay: TimeSpan) {
        arrivedBytes += packet.size
        let lost = Int(packet.number &- expected)
        expected = packet.number &+ 1
        acknowledgements.append((now + delay, lost))
    }
}

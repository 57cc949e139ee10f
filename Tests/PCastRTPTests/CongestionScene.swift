import PCastCore

/// Flows that share a link, on virtual time.
struct CongestionScene {
    var link: CongestionLink
    var flows: [CongestionFlow]
    var download: LossBasedFlow?
    private(set) var now = Instant(nanoseconds: 0)

    static let step = TimeSpan.microseconds(500)

    /// The longest delay of the link's queue since this was last set to zero.
    var worstQueue = TimeSpan.zero

    init(link: CongestionLink, flows: [CongestionFlow], download: LossBasedFlow? = nil) {
        self.link = link
        self.flows = flows
        self.download = download
    }

    mutating func run(for span: TimeSpan, _ look: ((inout CongestionScene) -> Void)? = nil) {
        let end = now + span
        while now < end {
            now += Self.step
            for (packet, arrival) in link.advance(to: now, step: Self.step) {
                if packet.flow < flows.count {
                    flows[packet.flow].arrived(packet, at: arrival)
                } else {
                    download?.arrived(packet, at: now, delay: link.delay)
                }
            }
            for index in flows.indices {
                flows[index].report(at: now, delay: link.delay)
                flows[index].advance(to: now, link: &link)
            }
            download?.advance(to: now, link: &link)
            worstQueue = max(worstQueue, link.queueDelay)
            look?(&self)
        }
    }

    /// Returns the rate of a flow's arrivals during a time, in bits per second.
    mutating func rate(of flow: Int = 0, for span: TimeSpan) -> Double {
        let before = flows[flow].arrivedBytes
        run(for: span)
        return Double(flows[flow].arrivedBytes - before) * 8 / span.seconds
    }
}

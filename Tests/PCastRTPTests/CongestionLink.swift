import PCastCore
import PCastTestSupport

/// A bottleneck on virtual time: a rate, a tail-drop queue, a delay, jitter without reordering, and loss.
struct CongestionLink {
    struct Packet {
        var flow: Int
        var number: UInt16
        var size: Int
        var sentAt: Instant
    }

    /// The rate in bits per second.
    var rate: Double
    /// The maximum delay of the queue at the link's rate.
    var queueLimit: TimeSpan
    var delay = TimeSpan.milliseconds(25)
    var jitter = TimeSpan.zero
    /// The share of packets that are lost at random.
    var loss = 0.0

    private var queue: [Packet] = []
    private var head = 0
    private var queuedBytes = 0
    private var credit = 0.0
    private var underway: [(packet: Packet, arrival: Instant)] = []
    private var lastArrival = Instant(nanoseconds: 0)
    private var generator: SeededGenerator

    init(rate: Double, queueLimit: TimeSpan, seed: UInt64) {
        self.rate = rate
        self.queueLimit = queueLimit
        generator = SeededGenerator(seed: seed)
    }

    /// The time that a new packet would wait.
    var queueDelay: TimeSpan { TimeSpan(seconds: Double(queuedBytes) * 8 / rate) }

    /// Returns false if the queue is full.
    @discardableResult
    mutating func send(_ packet: Packet) -> Bool {
        guard queueDelay < queueLimit else { return false }
        queue.append(packet)
        queuedBytes += packet.size
        return true
    }

    /// Advances by a step of time. Returns the packets that arrived in it.
    mutating func advance(to now: Instant, step: TimeSpan) -> [(packet: Packet, arrival: Instant)] {
        credit += rate / 8 * step.seconds
        while head < queue.count, credit >= Double(queue[head].size) {
            let packet = queue[head]
            head += 1
            credit -= Double(packet.size)
            queuedBytes -= packet.size
            if Double.random(in: 0..<1, using: &generator) < loss { continue }
            let extra = TimeSpan(seconds: Double.random(in: 0...1, using: &generator) * jitter.seconds)
            lastArrival = max(lastArrival, now + delay + extra)
            underway.append((packet, lastArrival))
        }
        if head == queue.count {
            queue.removeAll(keepingCapacity: true)
            head = 0
            credit = 0
        }
        var arrived: [(Packet, Instant)] = []
        while let first = underway.first, first.arrival <= now {
            arrived.append(first)
            underway.removeFirst()
        }
        return arrived
    }
}

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

package import PCastCore

/// One direction of a network link as a value. Sent packets arrive according to the link's conditions.
///
/// The result is deterministic: the same packets at the same instants with the same random seed have the same result.
/// Several senders of one link share its queue.
package struct NetworkLink<Packet> {
    fileprivate struct Entry {
        let packet: Packet
        let size: Int
        let arrival: Instant
        let isReliable: Bool
    }

    /// The maximum number of packets in a queue that has no limit in bytes, and of packets in flight.
    private static var maximumPackets: Int { 16_384 }

    /// The current conditions. Setting them ends the schedule.
    package var conditions: LinkConditions {
        get { current }
        set {
            current = newValue
            changes = []
        }
    }

    /// The counters of the link.
    package private(set) var statistics = LinkStatistics()

    private var current: LinkConditions
    private var changes: ArraySlice<LinkSchedule.Change>
    private let beginning: Instant
    private var generator: SeededGenerator
    /// Whether the model of bursty loss is in its bad state.
    private var isBad = false

    /// The queue. The entries before `first` have left it.
    private var queue: [Entry] = []
    private var first = 0
    private var queuedBytes = 0
    /// The time at which the first packet of the queue is completely transmitted; nil if its transmission has not
    /// begun.
    private var departure: Instant?
    private var lastDeparture: Instant
    private var line = DelayLine<(packet: Packet, size: Int)>()
    private var latestArrival: Instant
    private var latestReliableArrival: Instant
    private var longestWait = TimeSpan.zero

    /// Creates a link whose conditions follow a schedule that begins now.
    package init(_ schedule: LinkSchedule, seed: UInt64, at now: Instant) {
        current = schedule.initial
        changes = schedule.changes[...]
        beginning = now
        generator = SeededGenerator(seed: seed)
        lastDeparture = now
        latestArrival = now
        latestReliableArrival = now
    }

    /// Creates a link with constant conditions. The same seed causes the same losses and delays.
    package init(_ conditions: LinkConditions, seed: UInt64, at now: Instant) {
        self.init(LinkSchedule(conditions), seed: seed, at: now)
    }

    /// The number of bytes in the queue.
    package var backlog: Int { queuedBytes }

    /// Returns the longest queuing delay of a packet since the last call, and resets it.
    package mutating func takeLongestWait() -> TimeSpan {
        defer { longestWait = .zero }
        return longestWait
    }

    // MARK: Sending

    /// Returns whether the queue accepts a packet of this size in bytes. A reliable sender waits until it does, like
    /// TCP.
    package func hasSpace(for size: Int) -> Bool {
        guard queue.count - first < Self.maximumPackets, line.count < Self.maximumPackets else { return false }
        // A queue accepts at least one packet of any size.
        guard queuedBytes > 0, let limit = current.queue.bytes(at: current.rate) else { return true }
        return queuedBytes + size <= limit
    }

    /// Sends a packet. `size` is in bytes including the IP header.
    ///
    /// Reliable packets are segments of a connection that the link does not emulate itself. They are never lost,
    /// duplicated, reordered or rejected, and wait while the link is down.
    package mutating func send(_ packet: Packet, size: Int, isReliable: Bool = false, at now: Instant) {
        advance(to: now)
        statistics.sent += 1
        statistics.largestPacket = max(statistics.largestPacket, size)
        if !isReliable {
            if let limit = current.maximumPacketSize, size > limit { return statistics.oversized += 1 }
            if current.isDown { return statistics.cutOff += 1 }
            guard hasSpace(for: size) else { return statistics.overflowed += 1 }
        }
        queue.append(Entry(packet: packet, size: size, arrival: now, isReliable: isReliable))
        queuedBytes += size
        statistics.largestBacklog = max(statistics.largestBacklog, queuedBytes)
        transmit(until: now)
    }

    // MARK: Receiving

    /// Returns the next packet that has arrived; nil if there is none.
    package mutating func receive(at now: Instant) -> Packet? {
        advance(to: now)
        guard let (packet, size) = line.pop(until: now) else { return nil }
        statistics.delivered += 1
        statistics.deliveredBytes += size
        return packet
    }

    /// The time at which `receive` must be called next; nil if no packet is queued or in flight.
    package var deadline: Instant? {
        let next = Instant.earlier(line.next, departure ?? nextStart)
        guard first < queue.count else { return next }
        return Instant.earlier(next, changes.first.map { beginning + $0.age })
    }

    // MARK: Time

    private mutating func advance(to now: Instant) {
        while let change = changes.first, beginning + change.age <= now {
            transmit(until: beginning + change.age)
            current = change.conditions
            changes = changes.dropFirst()
        }
        transmit(until: now)
    }

    /// The time at which the transmission of the first packet of the queue can begin; nil if the queue is empty, or
    /// until the conditions change.
    private var nextStart: Instant? {
        guard first < queue.count else { return nil }
        if current.isDown, queue[first].isReliable { return nil }
        let start = max(queue[first].arrival, lastDeparture)
        guard let remainder = current.stall?.remainder(at: start - beginning) else { return start }
        return start + remainder
    }

    private mutating func transmit(until now: Instant) {
        while true {
            if departure == nil {
                guard let start = nextStart, start <= now else { return }
                departure = start + transmissionTime(of: queue[first].size)
            }
            guard let departure, departure <= now else { return }
            depart(at: departure)
        }
    }

    private func transmissionTime(of size: Int) -> TimeSpan {
        guard let rate = current.rate else { return .zero }
        return TimeSpan(seconds: Double(size) * 8 / Double(max(1, rate.bitsPerSecond)))
    }

    private mutating func depart(at instant: Instant) {
        let entry = queue[first]
        first += 1
        if first == queue.count || first > 1_024 {
            queue.removeFirst(first)
            first = 0
        }
        queuedBytes -= entry.size
        departure = nil
        lastDeparture = instant
        longestWait = max(longestWait, instant - entry.arrival)
        if entry.isReliable {
            latestReliableArrival = max(latestReliableArrival, instant + delay())
            return line.insert((entry.packet, entry.size), at: latestReliableArrival)
        }
        if isLost() { return statistics.lost += 1 }
        let copies = generator.happens(current.duplication) ? 2 : 1
        statistics.duplicated += copies - 1
        for _ in 0..<copies { line.insert((entry.packet, entry.size), at: arrival(instant + delay())) }
    }

    private mutating func isLost() -> Bool {
        switch current.loss {
        case .none: return false
        case .random(let share): return generator.happens(share)
        case .bursts(let model):
            isBad = isBad ? !generator.happens(model.toGood) : generator.happens(model.toBad)
            return generator.happens(isBad ? model.lossInBad : model.lossInGood)
        }
    }

    private mutating func delay() -> TimeSpan {
        guard current.jitter > .zero else { return current.delay }
        return current.delay + .nanoseconds(Int64.random(in: 0...current.jitter.nanoseconds, using: &generator))
    }

    private mutating func arrival(_ instant: Instant) -> Instant {
        let arrival = current.reorders ? instant : max(instant, latestArrival)
        latestArrival = max(latestArrival, arrival)
        return arrival
    }
}

extension NetworkLink: Sendable where Packet: Sendable {}
extension NetworkLink.Entry: Sendable where Packet: Sendable {}

/// The counters of one direction of a link.
package struct LinkStatistics: Hashable, Sendable {
    /// The number of sent packets, including those that were dropped.
    package internal(set) var sent = 0
    /// The number of packets that arrived.
    package internal(set) var delivered = 0
    /// The bytes that arrived, including IP headers.
    package internal(set) var deliveredBytes = 0
    /// The number of duplicated packets.
    package internal(set) var duplicated = 0
    /// The number of packets that the loss model dropped.
    package internal(set) var lost = 0
    /// The number of packets that were dropped because the queue was full.
    package internal(set) var overflowed = 0
    /// The number of packets that were dropped because they were too large.
    package internal(set) var oversized = 0
    /// The number of packets that were dropped because the link was down.
    package internal(set) var cutOff = 0
    /// The size of the largest sent packet in bytes.
    package internal(set) var largestPacket = 0
    /// The maximum number of bytes in the queue.
    package internal(set) var largestBacklog = 0

    /// Creates counters of zero.
    package init() {}
}

/// The packets on a link, ordered by arrival time in a binary heap. Packets with equal times keep the order of
/// insertion.
struct DelayLine<Element> {
    fileprivate struct Entry {
        let instant: Instant
        let number: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            left.instant == right.instant ? left.number < right.number : left.instant < right.instant
        }
    }

    private var entries: [Entry] = []
    private var inserted: UInt64 = 0

    var count: Int { entries.count }
    var next: Instant? { entries.first?.instant }

    mutating func insert(_ element: Element, at instant: Instant) {
        entries.append(Entry(instant: instant, number: inserted, element: element))
        inserted += 1
        var index = entries.count - 1
        while index > 0, entries[index] < entries[(index - 1) / 2] {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes and returns the first packet whose arrival time is reached; nil if there is none.
    mutating func pop(until now: Instant) -> Element? {
        guard let first = entries.first, first.instant <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.element }
        entries[0] = last
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
            guard entries[child] < entries[index] else { break }
            entries.swapAt(index, child)
            index = child
        }
        return first.element
    }
}

extension DelayLine: Sendable where Element: Sendable {}
extension DelayLine.Entry: Sendable where Element: Sendable {}

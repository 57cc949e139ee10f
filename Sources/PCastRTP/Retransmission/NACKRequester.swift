package import PCastCore

/// Determines which packets of a stream to request again, and when (RFC 4585).
///
/// A missing packet is requested at once; if packets are reordered, as soon as it is probably not just late. It is then
/// requested again after slightly more than the round-trip time, at most every 20 ms, and in ten rounds in total. From
/// the second round on there are two requests per round, because a packet that is lost twice delays a frame the most.
/// Their distance makes it unlikely that one loss burst affects both answers.
///
/// At most 1000 packets are missing at a time, and none more than 10,000 before the newest. Otherwise a key frame is
/// cheaper, and ``needsKeyFrame`` is set.
package struct NACKRequester: Sendable {
    private struct Missing {
        /// The unwrapped sequence number.
        let sequence: Int64
        /// The time at which the gap was noticed.
        let noticed: Instant
        /// The time of the next request.
        var nextRequest: Instant
        /// The number of rounds of requests so far.
        var rounds: UInt8 = 0
        /// Whether the second request of the round is still due.
        var isRepeating = false
    }

    /// The maximum number of missing packets.
    package static let maximumMissing = 1000
    /// The maximum difference to the newest sequence number.
    package static let maximumAge: Int64 = 10_000
    /// The maximum number of rounds.
    package static let maximumRounds = 10
    /// The minimum time between requests.
    package static let minimumInterval = TimeSpan.milliseconds(20)

    /// The round-trip time to the sender; 50 ms unless set.
    package var roundTrip = TimeSpan.milliseconds(50)

    /// Whether too many packets are missing, so that a key frame is needed; it is reset by ``keyFrameReceived(upTo:)``.
    package private(set) var needsKeyFrame = false

    /// The total number of requested packets, counted once per request.
    package private(set) var requested: Int64 = 0
    /// The total number of missing packets that arrived.
    package private(set) var recovered: Int64 = 0
    /// The total number of missing packets that did not arrive or became useless.
    package private(set) var abandoned: Int64 = 0

    /// The missing packets in ascending order; memory for the maximum is reserved.
    private var missing: [Missing] = []
    /// The newest sequence number; nil before the first packet.
    private var newest: Int64?
    /// The time by which packets have recently been late because of reordering.
    package private(set) var reorderWindow = TimeSpan.zero
    /// The maximum of that time.
    private static let maximumReorderWindow = TimeSpan.milliseconds(30)
    /// The sequence number of the last key frame; nil before the first.
    private var lastKeyFrame: Int64?

    /// The time at which ``poll(into:at:)`` is due; nil if nothing is missing.
    package private(set) var deadline: Instant?

    /// Creates a requester without packets.
    package init() { missing.reserveCapacity(Self.maximumMissing) }

    /// The number of missing packets.
    package var missingCount: Int { missing.count }

    /// Returns whether a packet is missing.
    package func isMissing(_ sequence: Int64) -> Bool {
        let index = firstIndex(notBefore: sequence)
        return index < missing.count && missing[index].sequence == sequence
    }

    /// Records a packet that arrived, originally or as a retransmission.
    package mutating func received(_ sequence: Int64, isRetransmission: Bool = false, at now: Instant) {
        guard let newest else {
            if !isRetransmission { self.newest = sequence }
            return
        }
        if sequence > newest {
            self.newest = sequence
            abandon(before: sequence - Self.maximumAge)
            addGap(from: newest + 1, to: sequence, at: now)
        } else {
            remove(sequence, isRetransmission: isRetransmission, at: now)
        }
    }

    /// Records a packet after a gap that is too long to be repaired: nothing before it is requested, but a key frame is
    /// needed.
    package mutating func skip(to sequence: Int64) {
        guard let newest, sequence > newest else { return }
        abandon(before: sequence)
        abandoned += sequence - newest - 1
        self.newest = sequence
        needsKeyFrame = true
    }

    /// Returns the time between rounds: the round-trip time plus an eighth and 5 ms. If an answer arrived just after
    /// another request, the packet would be sent twice.
    package static func interval(roundTrip: TimeSpan) -> TimeSpan {
        max(roundTrip + roundTrip / 8 + .milliseconds(5), minimumInterval)
    }

    /// Returns the time between the two requests of a round: three eighths of the round-trip time. At 2 Mbit/s and a
    /// round-trip time of 100 ms this is about six packets, after which a burst of four losses has ended in four of
    /// five cases.
    package static func spacing(roundTrip: TimeSpan) -> TimeSpan { max(roundTrip * 3 / 8, minimumInterval) }

    /// Appends the sequence numbers to request now to a list in ascending order; there are at most ``maximumMissing``.
    package mutating func poll(into list: inout [UInt16], at now: Instant) {
        guard let deadline, now >= deadline else { return }
        var earliest: Instant?
        var kept = 0
        for index in missing.indices {
            var entry = missing[index]
            if entry.nextRequest <= now {
                guard entry.isRepeating || entry.rounds < Self.maximumRounds else {
                    abandoned += 1
                    continue
                }
                list.append(UInt16(truncatingIfNeeded: entry.sequence))
                requested += 1
                ask(for: &entry, at: now)
            }
            missing[kept] = entry
            kept += 1
            earliest = Instant.earlier(earliest, entry.nextRequest)
        }
        missing.removeLast(missing.count - kept)
        self.deadline = earliest
    }

    /// Schedules the request after this one.
    private func ask(for entry: inout Missing, at now: Instant) {
        let (interval, spacing) = (Self.interval(roundTrip: roundTrip), Self.spacing(roundTrip: roundTrip))
        if entry.isRepeating {
            entry.isRepeating = false
            entry.nextRequest = now + (interval - spacing)
        } else {
            entry.rounds += 1
            entry.isRepeating = entry.rounds > 1 && spacing < interval
            entry.nextRequest = now + (entry.isRepeating ? spacing : interval)
        }
    }

    /// Records the beginning of a key frame: missing packets before it are not needed any more.
    package mutating func keyFrameReceived(upTo sequence: Int64) {
        lastKeyFrame = max(lastKeyFrame ?? sequence, sequence)
        needsKeyFrame = false
        abandon(before: sequence)
    }

    /// Stops requesting packets before a sequence number, because they are too late.
    package mutating func abandon(before sequence: Int64) {
        let count = firstIndex(notBefore: sequence)
        guard count > 0 else { return }
        missing.removeFirst(count)
        abandoned += Int64(count)
        if missing.isEmpty { deadline = nil }
    }

    /// Resets the state, because the source has restarted: nothing is missing, and the next packet is the first.
    package mutating func restart() {
        abandoned += Int64(missing.count)
        missing.removeAll(keepingCapacity: true)
        deadline = nil
        newest = nil
        lastKeyFrame = nil
    }

    /// Adds the packets of a gap, or requests a key frame if they are too many.
    private mutating func addGap(from first: Int64, to end: Int64, at now: Instant) {
        guard first < end else { return }
        let first = max(first, lastKeyFrame ?? first)
        if let lastKeyFrame, missing.count + Int(clamping: end - first) > Self.maximumMissing {
            abandon(before: lastKeyFrame)
        }
        guard missing.count + Int(clamping: end - first) <= Self.maximumMissing else { return giveUp() }
        for sequence in first..<max(first, end) { append(sequence, at: now) }
    }

    private mutating func append(_ sequence: Int64, at now: Instant) {
        let first = now + reorderWindow
        missing.append(Missing(sequence: sequence, noticed: now, nextRequest: first))
        deadline = Instant.earlier(deadline, first)
    }

    /// Stops requesting all packets, and requests a key frame.
    private mutating func giveUp() {
        abandoned += Int64(missing.count)
        missing.removeAll(keepingCapacity: true)
        deadline = nil
        needsKeyFrame = true
    }

    /// Removes a packet that arrived.
    private mutating func remove(_ sequence: Int64, isRetransmission: Bool, at now: Instant) {
        let index = firstIndex(notBefore: sequence)
        guard index < missing.count, missing[index].sequence == sequence else { return }
        let entry = missing.remove(at: index)
        learn(from: entry, isRetransmission: isRetransmission, at: now)
        recovered += 1
        if missing.isEmpty { deadline = nil }
    }

    /// Adapts the delay of the first request: a packet that arrived sooner than an answer could was only reordered, so
    /// further packets are awaited for as long. A packet that was retransmitted shortens the delay.
    private mutating func learn(from entry: Missing, isRetransmission: Bool, at now: Instant) {
        let lateness = now - entry.noticed
        if !isRetransmission, entry.rounds == 0 || lateness < roundTrip / 2 {
            reorderWindow = min(max(lateness, reorderWindow - reorderWindow / 64), Self.maximumReorderWindow)
        } else {
            reorderWindow -= reorderWindow / 16
        }
    }

    /// Returns the index of the first missing packet from a sequence number on.
    private func firstIndex(notBefore sequence: Int64) -> Int {
        var low = 0
        var high = missing.count
        while low < high {
            let middle = (low + high) / 2
            if missing[middle].sequence < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

public import PCastMedia

/// Which packets of one stream to ask for again, and when (RFC 4585; NACK1).
///
/// A missing packet is asked for at once, or where packets overtake each other as soon as it is no longer likely to be on
/// its way; then each round trip (and a little more, for an answer may be late) but not more
/// often than every 20 ms, ten rounds in all. From the second round on it is asked for twice in a round, far enough apart that
/// one burst of losses does not take both answers: what was lost twice is what pictures wait for the longest.
/// At most 1000 packets are missed at a time, none more than 10,000 behind the newest: beyond that a key frame is
/// cheaper, and `needsKeyFrame` says so.
public struct NACKRequester: Sendable {
    private struct Missing {
        let sequence: Int64
        let noticed: Instant
        var nextRequest: Instant
        var rounds: UInt8 = 0
        /// The second request of this round is still to come.
        var isRepeating = false
    }

    public static let maximumMissing = 1000
    public static let maximumAge: Int64 = 10_000
    public static let maximumRounds = 10
    public static let minimumInterval = TimeSpan.milliseconds(20)

    /// The time to the sender and back; assumed to be 50 ms until set.
    public var roundTrip = TimeSpan.milliseconds(50)

    /// So much is missing that only a key frame helps. Stays until `keyFrameReceived`.
    public private(set) var needsKeyFrame = false

    /// Packets asked for, counted once for each request.
    public private(set) var requested: Int64 = 0
    /// Missing packets that came after all.
    public private(set) var recovered: Int64 = 0
    /// Missing packets that never came or that became useless first.
    public private(set) var abandoned: Int64 = 0

    /// Ascending; room for all is reserved at the start.
    private var missing: [Missing] = []
    private var newest: Int64?
    /// By how much packets have lately been overtaken by later ones.
    public private(set) var overtaking = TimeSpan.zero
    private static let longestOvertaking = TimeSpan.milliseconds(30)
    private var lastKeyFrame: Int64?

    /// When `poll` wants to be called; nil when nothing is missing.
    public private(set) var deadline: Instant?

    public init() { missing.reserveCapacity(Self.maximumMissing) }

    /// Packets missing now.
    public var missingCount: Int { missing.count }

    /// Whether that packet is waited for.
    public func isMissing(_ sequence: Int64) -> Bool {
        let index = firstIndex(notBefore: sequence)
        return index < missing.count && missing[index].sequence == sequence
    }

    /// Notes a packet that arrived: by the stream itself, or as a retransmission of it.
    public mutating func received(_ sequence: Int64, isRetransmission: Bool = false, at now: Instant) {
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

    /// Notes a packet before which so much time is missing that what was lost in it is of no use any more: a key frame is,
    /// and nothing is asked for.
    public mutating func leaped(to sequence: Int64) {
        guard let newest, sequence > newest else { return }
        abandon(before: sequence)
        abandoned += sequence - newest - 1
        self.newest = sequence
        needsKeyFrame = true
    }

    /// From one request to the next: an eighth more than the round trip, and 5 ms. An answer that comes just after it was
    /// asked for again is sent twice, and takes the link from what is needed (NACK2).
    public static func interval(roundTrip: TimeSpan) -> TimeSpan {
        max(roundTrip + roundTrip / 8 + .milliseconds(5), minimumInterval)
    }

    /// From the first request of a round to its second: three eighths of the round trip. At 2 Mbit/s those are some six packets
    /// of 100 ms, behind which a burst of four is over four times out of five.
    public static func spacing(roundTrip: TimeSpan) -> TimeSpan { max(roundTrip * 3 / 8, minimumInterval) }

    /// Appends the numbers to ask for now to `list`, which has room for `maximumMissing`, in ascending order.
    public mutating func poll(into list: inout [UInt16], at now: Instant) {
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

    /// A key frame begins at `sequence`: what is missing before it is no longer needed.
    public mutating func keyFrameReceived(upTo sequence: Int64) {
        lastKeyFrame = max(lastKeyFrame ?? sequence, sequence)
        needsKeyFrame = false
        abandon(before: sequence)
    }

    /// What is missing before `sequence` is of no more use: played past, or too old.
    public mutating func abandon(before sequence: Int64) {
        let count = firstIndex(notBefore: sequence)
        guard count > 0 else { return }
        missing.removeFirst(count)
        abandoned += Int64(count)
        if missing.isEmpty { deadline = nil }
    }

    /// The source started over: nothing is missing, and the next packet is the first (RTP11).
    public mutating func restart() {
        abandoned += Int64(missing.count)
        missing.removeAll(keepingCapacity: true)
        deadline = nil
        newest = nil
        lastKeyFrame = nil
    }

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
        let first = now + overtaking
        missing.append(Missing(sequence: sequence, noticed: now, nextRequest: first))
        deadline = Instant.earlier(deadline, first)
    }

    private mutating func giveUp() {
        abandoned += Int64(missing.count)
        missing.removeAll(keepingCapacity: true)
        deadline = nil
        needsKeyFrame = true
    }

    private mutating func remove(_ sequence: Int64, isRetransmission: Bool, at now: Instant) {
        let index = firstIndex(notBefore: sequence)
        guard index < missing.count, missing[index].sequence == sequence else { return }
        let entry = missing.remove(at: index)
        learn(from: entry, isRetransmission: isRetransmission, at: now)
        recovered += 1
        if missing.isEmpty { deadline = nil }
    }

    /// A packet that comes by itself, sooner than an answer could, was only overtaken: the next is given as long. One that
    /// had to be repaired says that waiting is of less use.
    private mutating func learn(from entry: Missing, isRetransmission: Bool, at now: Instant) {
        let lateness = now - entry.noticed
        if !isRetransmission, entry.rounds == 0 || lateness < roundTrip / 2 {
            overtaking = min(max(lateness, overtaking - overtaking / 64), Self.longestOvertaking)
        } else {
            overtaking -= overtaking / 16
        }
    }

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

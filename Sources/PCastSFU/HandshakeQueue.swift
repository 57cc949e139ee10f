import PCastCore

/// Datagrams of handshakes that wait to be processed.
///
/// One costs as much as some hundred packets of media, so those of many who join at once are taken a few at a time, and
/// what is sent to who already watches goes in between. Who comes alone does not wait. Each peer has a queue of its own, and
/// they are served round robin: a peer that sends without end delays nobody but itself.
struct HandshakeQueue: Sendable {
    struct Entry: Sendable {
        let bytes: [UInt8]
        let path: NetworkPath
        let place: PeerIndex
    }

    /// About a millisecond's work: a handshake is two or three datagrams, and half a millisecond.
    static let slice = 4
    /// From one slice to the next, so that half of the time is media's.
    static let interval = TimeSpan.milliseconds(2)
    /// Of all peers; beyond it those who have none yet take the place of those who have several.
    static let capacity = 4_096
    /// Of one peer: a flight and its repetition. Beyond it they are dropped, and sent again by whoever still wants to come.
    static let capacityOfPeer = 8
    /// Peers that are looked at for a place, when all are taken.
    private static let evictionDepth = 64

    private var waiting: [PeerIndex: [Entry]] = [:]
    /// Whose turn it is, from `first` on; each stands here once.
    private var order: [PeerIndex] = []
    private var first = 0
    /// Who is looked at next when a place is needed.
    private var victim = 0
    private(set) var count = 0
    /// Datagrams without the header of a record, which nothing is done with.
    private(set) var malformed = 0
    private var sliceStart = Instant(nanoseconds: 0)
    private var taken = 0

    /// When the next slice may be taken; nil while nothing waits.
    var deadline: Instant? { count == 0 ? nil : sliceStart + Self.interval }

    /// Whether one may be taken now that has not waited; counts as taken when true.
    mutating func mayPass(at now: Instant) -> Bool {
        guard count == 0 else { return false }
        return take(at: now)
    }

    mutating func noteMalformed() { malformed += 1 }

    mutating func append(_ entry: @autoclosure () -> Entry, of place: PeerIndex) {
        let own = waiting[place]?.count ?? 0
        guard own < Self.capacityOfPeer else { return }
        guard count < Self.capacity || (own == 0 && evict()) else { return }
        if own == 0 { order.append(place) }
        waiting[place, default: []].append(entry())
        count += 1
    }

    /// Takes a place from a peer that has more than one. Each call looks at others than the last.
    private mutating func evict() -> Bool {
        for _ in 0..<Self.evictionDepth {
            victim = victim < order.count && victim >= first ? victim : first
            let place = order[victim]
            victim += 1
            guard let entries = waiting[place], entries.count > 1 else { continue }
            waiting[place]?.removeLast()
            count -= 1
            return true
        }
        return false
    }

    /// The next that may be taken now: the oldest of the peer that was served the longest ago.
    mutating func next(at now: Instant) -> Entry? {
        guard count > 0, take(at: now) else { return nil }
        let place = order[first]
        first += 1
        guard var entries = waiting.removeValue(forKey: place), !entries.isEmpty else {
            preconditionFailure("a queued peer must have a message")
        }
        let entry = entries.removeFirst()
        count -= 1
        if !entries.isEmpty {
            waiting[place] = entries
            order.append(place)
        }
        if first == order.count || first >= 256 {
            order.removeFirst(first)
            first = 0
        }
        return entry
    }

    private mutating func take(at now: Instant) -> Bool {
        if now - sliceStart >= Self.interval {
            sliceStart = now
            taken = 0
        }
        guard taken < Self.slice else { return false }
        taken += 1
        return true
    }

    /// Whether a datagram is made of whole records of DTLS (RFC 6347, section 4.1): their types, a version of DTLS, and
    /// lengths that fill it.
    static func isMadeOfRecords(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let headerSize = 13
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset > headerSize, (20...26).contains(bytes[offset]), bytes[offset + 1] == 0xFE else {
                return false
            }
            let length = Int(bytes[offset + 11]) << 8 | Int(bytes[offset + 12])
            guard length > 0, length <= bytes.count - offset - headerSize else { return false }
            offset += headerSize + length
        }
        return offset > 0
    }
}

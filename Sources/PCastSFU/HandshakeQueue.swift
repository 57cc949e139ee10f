import PCastCore

/// A queue of handshake datagrams that wait to be processed.
///
/// One such datagram costs as much as about a hundred packets of media. When many peers join at once, a few datagrams
/// are processed at a time, and media is sent to viewers in between. A single new peer does not wait. Each peer has its
/// own queue, and the queues are served round robin, so a peer that floods delays only itself.
struct HandshakeQueue: Sendable {
    struct Entry: Sendable {
        let bytes: [UInt8]
        let path: NetworkPath
        let peerIndex: PeerIndex
    }

    /// The number of datagrams in a slice, about one millisecond of work. A handshake has two or three datagrams and
    /// takes half a millisecond.
    static let slice = 4
    /// The time from one slice to the next, which leaves half of the time to media.
    static let interval = TimeSpan.milliseconds(2)
    /// The maximum number of datagrams of all peers. If it is reached, a peer without a datagram replaces one of a peer
    /// that has several.
    static let capacity = 4_096
    /// The maximum number of datagrams of one peer: a flight and its retransmission. Further datagrams are dropped, and
    /// the peer retransmits them.
    static let capacityOfPeer = 8
    /// The number of peers that are examined for eviction when the queue is full.
    private static let evictionDepth = 64

    private var waiting: [PeerIndex: [Entry]] = [:]
    /// The peers in the order in which they are served, starting at `first`. Each peer occurs once.
    private var order: [PeerIndex] = []
    private var first = 0
    /// The next peer that is examined for eviction.
    private var evictionCursor = 0
    private(set) var count = 0
    /// The number of datagrams without a valid record header, which are dropped.
    private(set) var malformed = 0
    private var sliceStart = Instant(nanoseconds: 0)
    private var readCount = 0

    /// The time of the next slice; nil if the queue is empty.
    var deadline: Instant? { count == 0 ? nil : sliceStart + Self.interval }

    /// Whether a new datagram may be processed at once. If true, it counts as processed.
    mutating func mayPass(at now: Instant) -> Bool {
        guard count == 0 else { return false }
        return take(at: now)
    }

    mutating func noteMalformed() { malformed += 1 }

    mutating func append(_ entry: @autoclosure () -> Entry, of peerIndex: PeerIndex) {
        let own = waiting[peerIndex]?.count ?? 0
        guard own < Self.capacityOfPeer else { return }
        guard count < Self.capacity || (own == 0 && evict()) else { return }
        if own == 0 { order.append(peerIndex) }
        waiting[peerIndex, default: []].append(entry())
        count += 1
    }

    /// Removes a datagram of a peer that has several. Each call continues where the last call stopped.
    private mutating func evict() -> Bool {
        for _ in 0..<Self.evictionDepth {
            evictionCursor = evictionCursor < order.count && evictionCursor >= first ? evictionCursor : first
            let peerIndex = order[evictionCursor]
            evictionCursor += 1
            guard let entries = waiting[peerIndex], entries.count > 1 else { continue }
            waiting[peerIndex]?.removeLast()
            count -= 1
            return true
        }
        return false
    }

    /// Removes and returns the next datagram that may be processed now: the oldest of the peer that was served longest
    /// ago.
    mutating func next(at now: Instant) -> Entry? {
        guard count > 0, take(at: now) else { return nil }
        let peerIndex = order[first]
        first += 1
        guard var entries = waiting.removeValue(forKey: peerIndex), !entries.isEmpty else {
            preconditionFailure("a queued peer must have a message")
        }
        let entry = entries.removeFirst()
        count -= 1
        if !entries.isEmpty {
            waiting[peerIndex] = entries
            order.append(peerIndex)
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
            readCount = 0
        }
        guard readCount < Self.slice else { return false }
        readCount += 1
        return true
    }

    /// Whether a datagram consists of whole DTLS records (RFC 6347, section 4.1). Their types and version are those of
    /// DTLS, and their lengths fill the datagram.
    static func isMadeOfRecords(_ bytes: ByteView) -> Bool {
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

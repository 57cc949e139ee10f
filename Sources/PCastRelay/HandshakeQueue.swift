import PCastMedia

/// Datagrams of handshakes that wait for their turn.
///
/// One costs as much as some hundred packets of media, so those of many who join at once are taken a few at a time, and
/// what is sent to who already watches goes in between (DTLS14). Who comes alone does not wait.
struct HandshakeQueue: Sendable {
    struct Entry: Sendable {
        let bytes: [UInt8]
        let path: NetworkPath
        let place: PeerPlace
    }

    /// About a millisecond's work: a handshake is two or three datagrams, and half a millisecond.
    static let slice = 4
    /// From one slice to the next, so that half of the time is media's.
    static let interval = TimeSpan.milliseconds(2)
    /// Beyond it they are dropped, and sent again by whoever still wants to come.
    static let capacity = 1_024

    /// The first of them at `first`.
    private var waiting: [Entry] = []
    private var first = 0
    private var sliceStart = Instant(nanoseconds: 0)
    private var taken = 0

    var count: Int { waiting.count - first }

    /// When the next slice may be taken; nil while nothing waits.
    var deadline: Instant? { count == 0 ? nil : sliceStart + Self.interval }

    /// Whether one may be taken now that has not waited; counts as taken when true.
    mutating func mayPass(at now: Instant) -> Bool {
        guard count == 0 else { return false }
        return take(at: now)
    }

    mutating func append(_ entry: @autoclosure () -> Entry) {
        if count < Self.capacity { waiting.append(entry()) }
    }

    /// The next whose turn has come.
    mutating func next(at now: Instant) -> Entry? {
        guard count > 0, take(at: now) else { return nil }
        defer {
            first += 1
            if first == waiting.count || first >= 256 {
                waiting.removeFirst(first)
                first = 0
            }
        }
        return waiting[first]
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
}

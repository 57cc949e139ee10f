import PCastCore

/// The sessions without a connection, ordered by the time since then. Each operation takes constant time on average.
struct DisconnectedSessions {
    private var since: [SessionID: Instant] = [:]
    /// The sessions ordered by time. An element that does not match `since` is obsolete.
    private var queue: [(id: SessionID, since: Instant)] = []
    private var head = 0

    var count: Int { since.count }

    /// The number of stored elements, including obsolete ones.
    var storedCount: Int { queue.count }

    func since(_ id: SessionID) -> Instant? { since[id] }

    /// Adds a session. `now` must not be earlier than at the last call.
    mutating func left(_ id: SessionID, at now: Instant) {
        since[id] = now
        queue.append((id, now))
    }

    mutating func returned(_ id: SessionID) {
        since[id] = nil
        // Sessions that reconnect leave obsolete elements.
        if queue.count - head > 2 * since.count + 64 { compact() }
    }

    /// Removes and returns the session that has had no connection for the longest time; nil if it disconnected after
    /// `time`.
    mutating func popFirst(leftBy time: Instant = Instant(nanoseconds: .max)) -> SessionID? {
        while head < queue.count {
            let first = queue[head]
            if since[first.id] == first.since {
                guard first.since <= time else { return nil }
                since[first.id] = nil
                head += 1
                return first.id
            }
            head += 1
        }
        queue.removeAll()
        head = 0
        return nil
    }

    private mutating func compact() {
        queue = queue[head...].filter { since[$0.id] == $0.since }
        head = 0
    }
}

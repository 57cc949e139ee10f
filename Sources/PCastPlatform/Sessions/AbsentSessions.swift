import PCastMedia

/// The sessions without a connection, those first that lost it first. Each operation takes as long with many of them as
/// with few, on the average.
struct AbsentSessions {
    private var since: [SessionID: Instant] = [:]
    /// In the order of the times; what is not in `since` with the same time is over.
    private var queue: [(id: SessionID, since: Instant)] = []
    private var head = 0

    var count: Int { since.count }

    /// What it takes room for.
    var places: Int { queue.count }

    func since(_ id: SessionID) -> Instant? { since[id] }

    /// - Parameter now: no earlier than at the last call.
    mutating func left(_ id: SessionID, at now: Instant) {
        since[id] = now
        queue.append((id, now))
    }

    mutating func returned(_ id: SessionID) {
        since[id] = nil
        // Sessions that come and go leave their places behind.
        if queue.count - head > 2 * since.count + 64 { compact() }
    }

    /// Takes out the one that has been away for the longest, if it went at `time` or before.
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

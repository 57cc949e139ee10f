import PCastCore
import Synchronization

/// A timer for all sessions. A separate task for each session would need 3 KB and a wake-up per second, although
/// sessions are mostly idle.
final class SessionClock: Sendable {
    private struct Entry {
        let session: SignalingSession
        var due: Instant
    }

    /// The entries, whose number is at most that of connections.
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Schedules one call of a session's `advance`, at an instant or a little later. It replaces an earlier schedule.
    func wake(_ session: SignalingSession, at due: Instant) {
        entries.withLock { $0[ObjectIdentifier(session)] = Entry(session: session, due: due) }
    }

    func discard(_ session: SignalingSession) {
        entries.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(session)) }
    }

    /// Whether no session is scheduled.
    var isIdle: Bool { entries.withLock { $0.isEmpty } }

    /// Calls all sessions that are due.
    func advance(to now: Instant) async {
        let due = entries.withLock { entries in
            let due = entries.values.filter { $0.due <= now }.map(\.session)
            for session in due { entries[ObjectIdentifier(session)] = nil }
            return due
        }
        for session in due { await session.advance(to: now) }
    }
}

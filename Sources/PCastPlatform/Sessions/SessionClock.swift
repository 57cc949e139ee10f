import PCastMedia
import Synchronization

/// Tells sessions that their time has come: one for all of them, for they hardly do anything but wait, and a task of its own
/// is three kilobytes and a wake-up a second for each.
final class SessionClock: Sendable {
    private struct Entry {
        let session: SignalingSession
        var due: Instant
    }

    /// As many as there are connections.
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Has a session told once, at an instant or a moment after it; what was said before means nothing any more.
    func wake(_ session: SignalingSession, at due: Instant) {
        entries.withLock { $0[ObjectIdentifier(session)] = Entry(session: session, due: due) }
    }

    func forget(_ session: SignalingSession) {
        entries.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(session)) }
    }

    /// Whether nobody waits to be told.
    var isIdle: Bool { entries.withLock { $0.isEmpty } }

    /// Tells those whose time has come.
    func advance(to now: Instant) async {
        let due = entries.withLock { entries in
            let due = entries.values.filter { $0.due <= now }.map(\.session)
            for session in due { entries[ObjectIdentifier(session)] = nil }
            return due
        }
        for session in due { await session.advance(to: now) }
    }
}

import PCast
import PCastMedia
import Synchronization

/// What all sessions together have been through.
final class SessionTally: Sendable {
    enum What: Sendable {
        case subscription, refusedSubscription, refusedStart
        /// A broken connection after which the session went on, and one after which it was another.
        case resumption, loss
        /// Online or offline was told twice in a row.
        case disorder
    }

    private let counts = Mutex<[What: Int]>([:])

    func count(_ what: What) { counts.withLock { $0[what, default: 0] += 1 } }

    subscript(_ what: What) -> Int { counts.withLock { $0[what] ?? 0 } }
}

/// What one start's callbacks tell of the connection.
final class LinkWitness: Sendable {
    private struct State {
        var session: SessionID?
        var isOnline = false
    }

    private let tally: SessionTally
    private let state = Mutex(State())

    init(_ tally: SessionTally) { self.tally = tally }

    func authenticated(_ status: RequestStatus, _ session: SessionID?) {
        guard status == .ok, let session else { return }
        let before = state.withLock { state in
            defer { state.session = session }
            return state.session
        }
        if let before { tally.count(before == session ? .resumption : .loss) }
    }

    func online() { note(true) }

    func offline() { note(false) }

    private func note(_ isOnline: Bool) {
        let isNews = state.withLock { state in
            defer { state.isOnline = isOnline }
            return state.isOnline != isOnline
        }
        if !isNews { tally.count(.disorder) }
    }
}

import PCast
import PCastCore
import Synchronization

/// Counters of events over all sessions.
final class SessionTally: Sendable {
    enum Callback: Sendable {
        case subscription, refusedSubscription, refusedStart
        /// A lost connection after which the session was resumed, and one after which there was a new session.
        case resumption, loss
        /// A repeated online or offline callback without the other in between.
        case disorder
    }

    private let counts = Mutex<[Callback: Int]>([:])

    func count(_ what: Callback) { counts.withLock { $0[what, default: 0] += 1 } }

    subscript(_ what: Callback) -> Int { counts.withLock { $0[what] ?? 0 } }
}

/// Evaluates the connection callbacks of one `start`.
final class ConnectionCallbackCheck: Sendable {
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
        let hasChanged = state.withLock { state in
            defer { state.isOnline = isOnline }
            return state.isOnline != isOnline
        }
        if !hasChanged { tally.count(.disorder) }
    }
}

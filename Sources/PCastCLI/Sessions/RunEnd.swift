import PCast
import PCastPlayback
import Synchronization

/// The end of a run. Only the first cause is used.
final class RunEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C or SIGTERM.
        case interrupted
        /// The requested duration has passed.
        case elapsed
        /// The last item of a playlist was played to its end.
        case played
        /// No item of a playlist can be played.
        case unplayable(PlaybackError)
        case stream(StreamEndedInfo)
        /// The platform rejects the session.
        case session(RequestStatus)
    }

    private struct State {
        var cause: Cause?
        var waiting: [CheckedContinuation<Cause, Never>] = []
    }

    private let state = Mutex(State())

    /// The cause; nil while the run continues.
    var cause: Cause? { state.withLock { $0.cause } }

    func end(_ cause: Cause) {
        let waiting: [CheckedContinuation<Cause, Never>] = state.withLock { state in
            guard state.cause == nil else { return [] }
            state.cause = cause
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: cause) }
    }

    /// Waits until the run has ended, even if the task is cancelled.
    func wait() async -> Cause {
        await withCheckedContinuation { continuation in
            let cause: Cause? = state.withLock { state in
                if state.cause == nil { state.waiting.append(continuation) }
                return state.cause
            }
            if let cause { continuation.resume(returning: cause) }
        }
    }
}

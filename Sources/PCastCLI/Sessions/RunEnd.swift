import PCast
import PCastPlayback
import Synchronization

/// What ends a run of `publish` or `subscribe`: the first that happens counts.
final class RunEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C, or the polite signal of another program.
        case interrupted
        /// The time asked for has passed.
        case elapsed
        /// The last item of a playlist was played through its end.
        case played
        /// Nothing of a playlist can be played.
        case unplayable(PlaybackError)
        case stream(StreamEndedInfo)
        /// The platform would not have the session any more.
        case session(RequestStatus)
    }

    private struct State {
        var cause: Cause?
        var waiting: [CheckedContinuation<Cause, Never>] = []
    }

    private let state = Mutex(State())

    /// Nil while the run goes on.
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

    /// Returns when the run has ended, cancelled or not.
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

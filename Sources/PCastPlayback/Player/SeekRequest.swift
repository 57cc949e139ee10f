public import PCastCore
import Synchronization

/// A seek that is in progress until a frame of its position is displayed.
public final class SeekRequest: Sendable {
    /// The result of a seek.
    enum Outcome: Sendable {
        /// The seek was completed at a position.
        case landed(TimeSpan)
        /// The seek failed.
        case failed(PlaybackError)
        /// Another seek replaced this one, or the session is over.
        case superseded

        /// Returns the position, or throws the error.
        func get() throws -> TimeSpan {
            switch self {
            case .landed(let position): return position
            case .failed(let error): throw error
            case .superseded: throw CancellationError()
            }
        }
    }

    private struct State {
        var outcome: Outcome?
        var waiting: [Int: CheckedContinuation<TimeSpan, any Error>] = [:]
        var lastID = 0
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    init() {}

    /// The position that the seek reached, which this property awaits. It throws a ``PlaybackError`` if the content is
    /// not seekable or playback failed. It throws `CancellationError` if another seek replaced this one, the session is
    /// over, or the waiting task was cancelled, which does not end the seek.
    public var reachedPosition: TimeSpan {
        get async throws {
            let id = state.withLock { state in
                state.lastID += 1
                return state.lastID
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let outcome = state.withLock { state -> Outcome? in
                        if let outcome = state.outcome { return outcome }
                        if state.cancelled.remove(id) != nil { return .superseded }
                        state.waiting[id] = continuation
                        return nil
                    }
                    if let outcome { continuation.resume(with: Result { try outcome.get() }) }
                }
            } onCancel: {
                let waiting = state.withLock { state in
                    guard let waiting = state.waiting.removeValue(forKey: id) else {
                        state.cancelled.insert(id)
                        return nil as CheckedContinuation<TimeSpan, any Error>?
                    }
                    return waiting
                }
                waiting?.resume(throwing: CancellationError())
            }
        }
    }

    /// Completes the seek. Only the first outcome counts.
    func complete(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            guard state.outcome == nil else { return [CheckedContinuation<TimeSpan, any Error>]() }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume(with: Result { try outcome.get() }) }
    }
}

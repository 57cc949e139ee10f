public import PCastCore
import Synchronization

/// A seek on its way to its picture.
public final class SeekRequest: Sendable {
    enum Outcome: Sendable {
        case landed(TimeSpan)
        case failed(PlaybackError)
        /// Another seek took its place, or the session is over.
        case superseded

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

    /// Where it came: waits for its first picture.
    ///
    /// - Throws: `CancellationError` when another seek took its place, its session is over, or whoever waits was cancelled (the
    ///   seek goes on then); a ``PlaybackError`` when there is nothing to go about in, or playing failed.
    public var landing: TimeSpan {
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

    /// The first word holds.
    func settle(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            guard state.outcome == nil else { return [CheckedContinuation<TimeSpan, any Error>]() }
            state.outcome = outcome
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume(with: Result { try outcome.get() }) }
    }
}

import Synchronization

/// Which callbacks were promised, and how often each was called.
final class CallbackLedger: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Of `start`: the first that tells how it ended.
        case started
        case subscribed
        /// Of a stream that was subscribed to.
        case streamEnded
        case stopped
    }

    private struct State {
        var calls: [Int: (kind: Kind, count: Int)] = [:]
        var next = 0
        /// Of those whose promise was kept once, which are forgotten; a second call is noticed by its number.
        var kept: [Kind: Int] = [:]
        var repeated: [Kind: Int] = [:]
    }

    private let state = Mutex(State())

    /// - Returns: what is to be called by the callback.
    func promise(_ kind: Kind) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.next += 1
            state.calls[state.next] = (kind, 0)
            return state.next
        }
        return { [self] in
            state.withLock { state in
                if state.calls.removeValue(forKey: number) != nil {
                    state.kept[kind, default: 0] += 1
                } else {
                    state.repeated[kind, default: 0] += 1
                }
            }
        }
    }

    /// Promises that were not kept so far.
    var uncalled: Int { state.withLock { $0.calls.count } }

    func uncalled(_ kind: Kind) -> Int { state.withLock { $0.calls.values.count { $0.kind == kind } } }

    func kept(_ kind: Kind) -> Int { state.withLock { $0.kept[kind] ?? 0 } }

    func repeated(_ kind: Kind) -> Int { state.withLock { $0.repeated[kind] ?? 0 } }
}

import Synchronization

/// Records the callbacks that are expected and how often each has been called.
final class CallbackRecorder: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// The first callback of `start`, which reports its result.
        case started
        case subscribed
        /// The end of a subscribed stream.
        case streamEnded
        case stopped
    }

    private struct State {
        var calls: [Int: (kind: Kind, count: Int)] = [:]
        var next = 0
        /// The number of callbacks that have been called once. Their entries are removed; a further call is recognized
        /// by the missing entry.
        var kept: [Kind: Int] = [:]
        var repeated: [Kind: Int] = [:]
    }

    private let state = Mutex(State())

    /// Records an expected callback. Returns the function that the callback must call.
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

    /// The number of expected callbacks that have not been called.
    var missing: Int { state.withLock { $0.calls.count } }

    func missing(_ kind: Kind) -> Int { state.withLock { $0.calls.values.count { $0.kind == kind } } }

    func kept(_ kind: Kind) -> Int { state.withLock { $0.kept[kind] ?? 0 } }

    func repeated(_ kind: Kind) -> Int { state.withLock { $0.repeated[kind] ?? 0 } }
}

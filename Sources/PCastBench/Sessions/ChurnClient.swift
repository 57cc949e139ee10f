import PCast
import PCastCompatibility
import PCastCore
import PCastTestSupport
import Synchronization

/// A client that starts, subscribes and stops at random with the callbacks of the SDK, and records their calls.
final class ChurnClient: Sendable {
    /// The values that all sessions share.
    struct Context: Sendable {
        let uri: String
        let authenticationToken: String
        let viewingToken: String
        let callbacks: CallbackRecorder
        let tally: SessionTally
        /// The maximum pause between two actions.
        let longestPause: Duration
    }

    private struct State {
        var stream: MediaStream?
        var isStarted = false
    }

    private let context: Context
    private let state = Mutex(State())
    private let seed: UInt64

    init(_ context: Context, seed: UInt64) {
        self.context = context
        self.seed = seed
    }

    /// Starts, subscribes and stops once.
    func runOnce() async {
        let pcast = PCast(PCastOptions(uri: context.uri))
        if await start(pcast) { await subscribe(pcast) }
        await stop(pcast)
    }

    /// Performs random actions until the given time.
    func run(until end: ContinuousClock.Instant) async {
        var generator = SeededGenerator(seed: seed)
        var pcast = PCast(PCastOptions(uri: context.uri))
        while ContinuousClock.now < end {
            let pause = context.longestPause * Double.random(in: 0...1, using: &generator)
            do { try await Task.sleep(for: pause) } catch { break }
            let (isStarted, stream) = state.withLock { ($0.isStarted, $0.stream) }
            let choice = Int.random(in: 0..<10, using: &generator)
            if !isStarted {
                _ = await start(pcast)
            } else if choice == 0 {
                await stop(pcast)
            } else if choice == 1 {
                // Abandoned without `stop`: the SDK object is released with all its resources.
                state.withLock { $0 = State() }
                pcast = PCast(PCastOptions(uri: context.uri))
            } else if let stream, stream.endedInfo == nil {
                if choice < 5 { stream.stop() }
            } else {
                await subscribe(pcast)
            }
        }
        await stop(pcast)
        await pcast.shutdown()
        await pcast.shutdown()
    }

    private func start(_ pcast: PCast) async -> Bool {
        let started = context.callbacks.promise(.started)
        let tally = context.tally
        let first = Mutex(true)
        let link = ConnectionCallbackCheck(tally)
        let result: RequestStatus = await withCheckedContinuation { continuation in
            let record: @Sendable (RequestStatus) -> Void = { status in
                guard
                    first.withLock({ isFirst in
                        defer { isFirst = false }
                        return isFirst
                    })
                else { return }
                started()
                continuation.resume(returning: status)
            }
            pcast.start(
                context.authenticationToken,
                authenticationCallback: { [weak self] _, status, session in
                    link.authenticated(status, session)
                    if status != .ok { self?.state.withLock { $0.isStarted = false } }
                    record(status)
                }, onlineCallback: { _ in link.online() }, offlineCallback: { _ in link.offline() })
        }
        state.withLock { $0.isStarted = result == .ok }
        if result != .ok { tally.count(.refusedStart) }
        return result == .ok
    }

    private func subscribe(_ pcast: PCast) async {
        let subscribed = context.callbacks.promise(.subscribed)
        let (callbacks, tally) = (context.callbacks, context.tally)
        await withCheckedContinuation { continuation in
            let first = Mutex(true)
            pcast.subscribe(streamToken: context.viewingToken) { [weak self] _, status, stream in
                subscribed()
                if let stream {
                    let ended = callbacks.promise(.streamEnded)
                    stream.setStreamEndedCallback { _, _, _ in ended() }
                    self?.state.withLock { $0.stream = stream }
                }
                tally.count(status == .ok ? .subscription : .refusedSubscription)
                // A second call of the callback would be an error of the SDK; the ledger records it.
                let isFirst = first.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if isFirst { continuation.resume() }
            }
        }
    }

    private func stop(_ pcast: PCast) async {
        let stopped = context.callbacks.promise(.stopped)
        await withCheckedContinuation { continuation in
            let first = Mutex(true)
            pcast.stop { _ in
                stopped()
                let isFirst = first.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if isFirst { continuation.resume() }
            }
        }
        state.withLock { $0 = State() }
    }
}

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

import PCast
import PCastCore
import PCastNetworkEmulation
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

import PCast
import PCastCore
import PCastNetworkEmulation
import Synchronization

/// A client that starts, subscribes and stops at random with the callbacks of the SDK, and records their calls.
final class ChurnClient: Sendable {
    /// The values that all sessions share.
    struct Surroundings: Sendable {
        let uri: String
        let authenticationToken: String
        let viewingToken: String
        let ledger: CallbackLedger
        let tally: SessionTally
        /// The maximum pause between two actions.
        let longestPause: Duration
    }

    private struct State {
        var stream: MediaStream?
        var isStarted = false
    }

    private let surroundings: Surroundings
    private let state = Mutex(State())
    private let seed: UInt64

    init(_ surroundings: Surroundings, seed: UInt64) {
        self.surroundings = surroundings
        self.seed = seed
    }

    /// Starts, subscribes and stops once.
    func visit() async {
        let pcast = PCast(PCastOptions(uri: surroundings.uri))
        if await start(pcast) { await subscribe(pcast) }
        await stop(pcast)
    }

    /// Performs random actions until the given time.
    func run(until end: ContinuousClock.Instant) async {
        var chance = SeededGenerator(seed: seed)
        var pcast = PCast(PCastOptions(uri: surroundings.uri))
        while ContinuousClock.now < end {
            let pause = surroundings.longestPause * Double.random(in: 0...1, using: &chance)
            do { try await Task.sleep(for: pause) } catch { break }
            let (isStarted, stream) = state.withLock { ($0.isStarted, $0.stream) }
            let choice = Int.random(in: 0..<10, using: &chance)
            if !isStarted {
                _ = await start(pcast)
            } else if choice == 0 {
                await stop(pcast)
            } else if choice == 1 {
                // Abandoned without `stop`: the SDK object is released with all its resources.
                state.withLock { $0 = State() }
                pcast = PCast(PCastOptions(uri: surroundings.uri))
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
        let started = surroundings.ledger.promise(.started)
        let tally = surroundings.tally
        let first = Mutex(true)
        let link = LinkWitness(tally)
        let result: RequestStatus = await withCheckedContinuation { continuation in
            let settle: @Sendable (RequestStatus) -> Void = { status in
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
                surroundings.authenticationToken,
                authenticationCallback: { [weak self] _, status, session in
                    link.authenticated(status, session)
                    if status != .ok { self?.state.withLock { $0.isStarted = false } }
                    settle(status)
                }, onlineCallback: { _ in link.online() }, offlineCallback: { _ in link.offline() })
        }
        state.withLock { $0.isStarted = result == .ok }
        if result != .ok { tally.count(.refusedStart) }
        return result == .ok
    }

    private func subscribe(_ pcast: PCast) async {
        let subscribed = surroundings.ledger.promise(.subscribed)
        let (ledger, tally) = (surroundings.ledger, surroundings.tally)
        await withCheckedContinuation { continuation in
            let first = Mutex(true)
            pcast.subscribe(streamToken: surroundings.viewingToken) { [weak self] _, status, stream in
                subscribed()
                if let stream {
                    let ended = ledger.promise(.streamEnded)
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
        let stopped = surroundings.ledger.promise(.stopped)
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

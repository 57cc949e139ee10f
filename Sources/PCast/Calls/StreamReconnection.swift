import PCastCore
import PCastIO
import PCastSignaling
import Synchronization

/// Sets up a stream again under the same ID, each time that the platform reports its media connection as lost. The
/// stream ends with `failed` if that does not succeed in time.
final class StreamReconnection: Sendable {
    private let stream: StreamID
    private let setup: StreamSetup
    private let call: MediaCall
    private let lifecycle: StreamLifecycle
    private let session: SignalingClient
    private let attempt = Mutex<Task<Void, Never>?>(nil)

    /// The time limit, which is longer than the 15 s for which the platform waits.
    private static let limit = TimeSpan.seconds(16)
    /// The delay before the next attempt.
    private static let pause = Duration.milliseconds(250)

    init(
        of stream: StreamID, by setup: StreamSetup, _ call: MediaCall, _ lifecycle: StreamLifecycle,
        _ session: SignalingClient
    ) {
        self.stream = stream
        self.setup = setup
        self.call = call
        self.lifecycle = lifecycle
        self.session = session
    }

    /// Begins to set up the stream again, and cancels an attempt that is under way.
    func begin() {
        attempt.withLock { attempt in
            let former = attempt
            former?.cancel()
            attempt = Task {
                await former?.value
                await run()
            }
        }
    }

    private func run() async {
        let deadline = MonotonicClock.now() + Self.limit
        while lifecycle.endedInfo == nil, !Task.isCancelled {
            do throws(PCastError) {
                return try await setUp()
            } catch {
                guard Self.mayStillWork(error), MonotonicClock.now() < deadline else {
                    return lifecycle.end(
                        StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Makes one attempt. Throws an error if it fails.
    private func setUp() async throws(PCastError) {
        let offer = try await call.renew()
        let request = SignalingRequest.setupStream(setup.message(offer: offer, session: session, resuming: stream))
        let response = try await session.perform(request).get()
        let (id, answer, relays) = try StreamSetup.read(response)
        guard id == stream else { throw PCastError(.malformedResponse, asking: "SetupStream") }
        // If the connection was lost once more, the next attempt starts from the beginning.
        guard !Task.isCancelled else { return }
        try await call.accept(answer, relays: relays)
        lifecycle.returned()
    }

    /// Returns whether another attempt may succeed, because the platform waits for another party or is not connected at
    /// the moment.
    private static func mayStillWork(_ error: PCastError) -> Bool {
        switch error.status {
        case .notReady, .timeout, .rateLimited, .capacity: true
        default: error.cause == .connection
        }
    }
}

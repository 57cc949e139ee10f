import PCastCore
import PCastIO
import PCastSignaling
import Synchronization

/// Sets a stream up again that the platform has lost the media connection of, under the same id, as often as the platform
/// says so. What does not come back in time ends `failed`.
final class StreamReturn: Sendable {
    private let stream: StreamID
    private let setup: StreamSetup
    private let call: MediaCall
    private let life: StreamLifecycle
    private let session: SignalingSession
    private let attempt = Mutex<Task<Void, Never>?>(nil)

    /// A platform waits for 15 s.
    private static let limit = TimeSpan.seconds(16)
    private static let pause = Duration.milliseconds(250)

    init(
        of stream: StreamID, by setup: StreamSetup, _ call: MediaCall, _ life: StreamLifecycle,
        _ session: SignalingSession
    ) {
        self.stream = stream
        self.setup = setup
        self.call = call
        self.life = life
        self.session = session
    }

    /// Begins anew where one is under way.
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
        while life.endedInfo == nil, !Task.isCancelled {
            do throws(PCastError) {
                return try await setUp()
            } catch {
                guard Self.mayStillWork(error), MonotonicClock.now() < deadline else {
                    return life.end(
                        StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func setUp() async throws(PCastError) {
        let offer = try await call.renew()
        let request = SignalingRequest.setupStream(setup.message(offer: offer, session: session, resuming: stream))
        let response = try await session.perform(request).get()
        let (id, answer, relays) = try StreamSetup.read(response)
        guard id == stream else { throw PCastError(.malformedResponse, asking: "SetupStream") }
        // Told that it is lost once more, the next attempt is begun from the start.
        guard !Task.isCancelled else { return }
        try await call.accept(answer, relays: relays)
        life.returned()
    }

    /// The platform waits for somebody else, or is not connected at the moment.
    private static func mayStillWork(_ error: PCastError) -> Bool {
        switch error.status {
        case .notReady, .timeout, .rateLimited, .capacity: true
        default: error.cause == .connection
        }
    }
}

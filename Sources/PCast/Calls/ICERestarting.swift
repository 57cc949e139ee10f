import PCastIO
import PCastWebRTC
import Synchronization

/// Restarts the ICE of a call that hears nothing of the platform any more, until it does (RFC 8445, section 9): new
/// credentials on both sides through the session's own conversation; keys, tracks and what was measured stay.
final class ICERestarting: Sendable {
    /// Brings an offer to the platform, and answers its answer; nil where that did not work.
    typealias Exchange = @Sendable (_ offer: String) async -> String?

    private struct State {
        var exchange: Exchange?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// Between attempts: checks with what the last one brought get a fair time.
    private static let interval = Duration.seconds(3)

    func setExchange(_ exchange: @escaping Exchange) { state.withLock { $0.exchange = exchange } }

    func follow(_ event: PeerConnection.Event, on loop: EventLoop<PeerConnection>?) {
        switch event {
        case .away: begin(on: loop)
        case .back, .closed, .failed: stop()
        default: break
        }
    }

    func stop() { state.withLock { $0.task.take() }?.cancel() }

    private func begin(on loop: EventLoop<PeerConnection>?) {
        state.withLock { state in
            guard state.task == nil, let exchange = state.exchange else { return }
            state.task = Task { [weak loop] in
                while !Task.isCancelled, let loop {
                    await Self.restart(on: loop, by: exchange)
                    try? await Task.sleep(for: Self.interval)
                }
            }
        }
    }

    private static func restart(on loop: EventLoop<PeerConnection>, by exchange: Exchange) async {
        let offer = try? await loop.call { machine, _ in
            var generator = SystemRandomNumberGenerator()
            return machine.makeRestartOffer(using: &generator)?.text
        }
        guard let offer = offer ?? nil, let text = await exchange(offer), !Task.isCancelled,
            let answer = try? SessionDescription(parsing: text)
        else { return }
        try? loop.submit { machine, now in try? machine.acceptRestart(answer, at: now) }
    }
}

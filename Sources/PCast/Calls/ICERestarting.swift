import PCastIO
import PCastWebRTC
import Synchronization

/// Restarts the ICE of a call that receives nothing from the platform, until it receives something (RFC 8445, section
/// 9). The credentials of both sides change through the session's own conversation. Keys, tracks and measurements stay.
final class ICERestarting: Sendable {
    /// Sends an offer to the platform and returns the answer; nil if that failed.
    typealias Exchange = @Sendable (_ offer: String) async -> String?

    private struct State {
        var exchange: Exchange?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// The interval between attempts, which gives the checks of the last attempt time to succeed.
    private static let interval = Duration.seconds(3)

    /// Sets the function that exchanges descriptions with the platform. There is no restart before it is set.
    func setExchange(_ exchange: @escaping Exchange) { state.withLock { $0.exchange = exchange } }

    /// Begins restarts when the connection is lost, and ends them when it is back or over.
    func follow(_ event: PeerConnection.Event, on loop: EventLoop<PeerConnection>?) {
        switch event {
        case .away: begin(on: loop)
        case .back, .closed, .failed: stop()
        default: break
        }
    }

    /// Ends the restarts.
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

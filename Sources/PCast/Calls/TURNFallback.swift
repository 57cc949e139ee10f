import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// The detour by a TURN server, for a call that neither UDP nor TCP leads to the platform: opened when the call has not
/// come about within a second, or hears nothing any more, and kept as long as the call.
final class TURNFallback: Sendable {
    private struct State {
        var server: TURNServerAddress?
        /// The platform's media address.
        var peer: TransportAddress?
        var loop: Weak?
        var tunnel: Tunnel?
        /// Where the tunnel begins, once it leads somewhere.
        var near: TransportAddress?
        var attempt: Task<Void, Never>?
        var isNeeded = true
        var isClosed = false
    }

    private struct Weak {
        weak var loop: EventLoop<PeerConnection>?
    }

    private let state = Mutex(State())

    /// What UDP, and after it TCP, have for themselves.
    private static let headStart = Duration.seconds(1)
    /// Between one attempt and the next.
    private static let interval = Duration.seconds(3)

    /// - Parameters:
    ///   - servers: as the platform told them; the first that we can use counts.
    ///   - answer: the platform's, for its media address.
    func prepare(_ servers: [TURNServerAddress], answer: SessionDescription, on loop: EventLoop<PeerConnection>) {
        let candidates = answer.media.flatMap(\.candidates).compactMap { ICECandidate($0) }
        let peer = candidates.first { $0.transport == .udp && $0.transportAddress != nil }?.transportAddress
        state.withLock { state in
            state.server = servers.first
            state.peer = peer
            state.loop = Weak(loop: loop)
        }
        attempt(after: Self.headStart)
    }

    func follow(_ event: PeerConnection.Event) {
        switch event {
        case .connected, .back:
            state.withLock { state in
                state.isNeeded = false
                state.attempt?.cancel()
            }
        case .away:
            state.withLock { $0.isNeeded = true }
            attempt(after: .zero)
        case .closed, .failed: close()
        default: break
        }
    }

    /// Forgets the platform that the detour led to, for it is to be prepared anew.
    func reset() {
        let tunnel = state.withLock { state in
            state.attempt?.cancel()
            let tunnel = state.tunnel
            state = State()
            return tunnel
        }
        tunnel?.close()
    }

    func close() {
        let tunnel = state.withLock { state in
            state.isClosed = true
            state.attempt?.cancel()
            return state.tunnel.take()
        }
        tunnel?.close()
    }

    private func attempt(after pause: Duration) {
        state.withLock { state in
            guard !state.isClosed, state.isNeeded, state.tunnel == nil, state.server != nil, state.peer != nil else {
                return
            }
            state.attempt?.cancel()
            state.attempt = Task { [weak self] in
                do { try await Task.sleep(for: pause) } catch { return }
                self?.open()
            }
        }
    }

    private func open() {
        state.withLock { state in
            guard !state.isClosed, state.isNeeded, state.tunnel == nil, let server = state.server,
                let peer = state.peer
            else { return }
            state.tunnel = Tunnel(
                TURNTunnel(server.credentials, peer: peer), host: server.host, port: server.port,
                clock: { MonotonicClock.now() }, told: { [weak self] event in self?.follow(event) })
        }
    }

    private func follow(_ event: Tunnel.Event) {
        switch event {
        case .ready(let address):
            let loop = state.withLock { state in
                state.near = address
                return state.loop?.loop
            }
            try? loop?.submit { machine, now in machine.addRelay(address, at: now) }
        case .ended:
            let (loop, near) = state.withLock { state in
                state.tunnel = nil
                defer { state.near = nil }
                // What went through it needs another.
                if state.near != nil { state.isNeeded = true }
                return (state.loop?.loop, state.near)
            }
            if let near { try? loop?.submit { machine, now in machine.removeRelay(near, at: now) } }
            attempt(after: Self.interval)
        }
    }
}

import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// The connection through a TURN server, for a call that does not reach the platform over UDP or TCP. It is opened if
/// the call is not connected within a second, or receives nothing any more. It is kept as long as the call.
final class TURNFallback: Sendable {
    private struct State {
        var server: TURNServerAddress?
        /// The platform's media address.
        var peer: TransportAddress?
        var loop: Weak?
        var tunnel: Tunnel?
        /// The local address of the tunnel; nil before the tunnel is ready.
        var near: TransportAddress?
        var attempt: Task<Void, Never>?
        var isNeeded = true
        var isClosed = false
    }

    private struct Weak {
        weak var loop: EventLoop<PeerConnection>?
    }

    private let state = Mutex(State())

    /// The time for which UDP and then TCP are tried alone.
    private static let headStart = Duration.seconds(1)
    /// The interval between attempts.
    private static let interval = Duration.seconds(3)

    /// Prepares the connection and opens it if the call is not connected in time.
    ///
    /// - Parameters:
    ///   - servers: The supported TURN servers in the platform's order. The first one is used.
    ///   - answer: The platform's answer, which contains its media address.
    ///   - loop: The event loop of the call.
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

    /// Opens the connection when the call receives nothing, and closes it when the call is over.
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

    /// Closes the connection. It has to be prepared again for the new answer.
    func reset() {
        let tunnel = state.withLock { state in
            state.attempt?.cancel()
            let tunnel = state.tunnel
            state = State()
            return tunnel
        }
        tunnel?.close()
    }

    /// Closes the connection permanently.
    func close() {
        let tunnel = state.withLock { state in
            state.isClosed = true
            state.attempt?.cancel()
            return state.tunnel.take()
        }
        tunnel?.close()
    }

    /// Schedules an attempt, if the connection is needed and not open.
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

    /// Opens the tunnel, if it is still needed.
    private func open() {
        state.withLock { state in
            guard !state.isClosed, state.isNeeded, state.tunnel == nil, let server = state.server,
                let peer = state.peer
            else { return }
            state.tunnel = Tunnel(
                TURNTunnel(server.credentials, peer: peer), host: server.host, port: server.port,
                clock: { MonotonicClock.now() }, onEvent: { [weak self] event in self?.follow(event) })
        }
    }

    /// Adds the tunnel to the call when it is ready, and removes it when it has ended.
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
                // The call has to replace the path that used the tunnel.
                if state.near != nil { state.isNeeded = true }
                return (state.loop?.loop, state.near)
            }
            if let near { try? loop?.submit { machine, now in machine.removeRelay(near, at: now) } }
            attempt(after: Self.interval)
        }
    }
}

/// A TURN server of the platform that the client supports: TURN over TLS and TCP.
struct TURNServerAddress: Hashable, Sendable {
    let host: String
    let port: UInt16
    let credentials: TURNCredentials

    private static let defaultPort: UInt16 = 5349

    /// Parses a TURN URI (RFC 7065), e.g. `turns:media.example.org:443?transport=tcp`; nil for another transport or a
    /// malformed URI.
    init?(uri: String, username: String, credential: String) {
        guard uri.lowercased().hasPrefix("turns:") else { return nil }
        let parts = uri.dropFirst("turns:".count).split(separator: "?", maxSplits: 1)
        guard let authority = parts.first, parts.count == 1 || parts[1].lowercased() == "transport=tcp" else {
            return nil
        }
        var host = authority
        var port = Self.defaultPort
        if let colon = authority.lastIndex(of: ":"), authority[colon...].firstIndex(of: "]") == nil {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            host = authority[..<colon]
            port = number
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !username.isEmpty else { return nil }
        self.host = String(host)
        self.port = port
        credentials = TURNCredentials(username: username, password: credential)
    }
}

/// The TURN client as the state machine of a `Tunnel`.
struct TURNTunnel: StreamClientMachine {
    private var client: TURNClient
    private var isReady = false
    private var hasFailed = false

    init(_ credentials: TURNCredentials, peer: TransportAddress) {
        client = TURNClient(credentials: credentials, peer: peer, seed: UInt64.random(in: 0...UInt64.max))
    }

    mutating func connected(at now: Instant) { client.connected(at: now) }
    mutating func received(_ bytes: [UInt8], at now: Instant) { client.received(bytes, at: now) }
    mutating func received(datagram: [UInt8], at now: Instant) { client.send(datagram) }
    mutating func advance(to now: Instant) { client.advance(to: now) }
    var deadline: Instant? { client.deadline }

    mutating func pollOutput() -> StreamClientOutput? {
        switch client.poll() {
        case .send(let bytes): return .send(bytes, mayBeDropped: TURNStreamReader.isData(bytes))
        case .received(let bytes): return .sendDatagram(bytes)
        case nil: break
        }
        switch client.state {
        case .ready where !isReady:
            isReady = true
            return .ready
        case .failed(let code) where !hasFailed:
            hasFailed = true
            return .failed("the TURN server rejected the request (\(code))")
        case .allocating, .binding, .ready, .failed: return nil
        }
    }
}

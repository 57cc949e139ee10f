import PCastCore
import PCastWeb
import PCastWebRTC

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

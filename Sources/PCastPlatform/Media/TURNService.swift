import PCastCore
import PCastWeb
import PCastWebRTC

/// The platform's TURN server. The advertised media addresses represent the media port of this host.
struct TURNService: StreamServerMachine {
    private var server: TURNServer
    /// The address at which this host reaches its media port, for each advertised address. They all differ, so that the
    /// source of a datagram identifies the advertised address. This is possible because all of 127.0.0.0/8 belongs to
    /// the host.
    private let addresses: [TransportAddress]
    private let peers: [TransportAddress]
    /// The address at which ports are opened.
    private let address: IPAddress

    /// Creates the server. `listen` is the address that media listens on.
    init(
        advertised: [TransportAddress], listen: IPAddress, rtcPort: UInt16, secret: [UInt8], clock: WallClockReference
    ) {
        let isEverywhere = listen == .anyV4
        let peers = advertised.filter { $0.ip.family == (listen.family == .v4 ? .v4 : .v6) }.prefix(200)
        addresses = peers.indices.map { index in
            let ip = isEverywhere ? IPAddress(v4: 0x7F00_0001 + UInt32(index)) : listen
            return TransportAddress(ip: ip.isUnspecified ? Self.loopbackV6 : ip, port: rtcPort)
        }
        self.peers = Array(peers)
        address = isEverywhere ? .loopbackV4 : (listen.isUnspecified ? Self.loopbackV6 : listen)
        server = TURNServer(
            configuration: TURNServerConfiguration(secret: secret, clock: clock, peers: self.peers),
            generator: SystemRandomNumberGenerator())
    }

    private static let loopbackV6 = IPAddress(v6: 0, 1)

    mutating func connected(_ connection: UInt32, from client: TransportAddress, at now: Instant) {
        server.connected(connection, from: client, at: now)
    }

    mutating func disconnected(_ connection: UInt32, at now: Instant) { server.disconnected(connection) }

    mutating func received(_ bytes: [UInt8], on connection: UInt32, at now: Instant) {
        server.received(bytes, on: connection, at: now)
    }

    mutating func opened(_ port: UInt16?, on connection: UInt32, at now: Instant) {
        if let port {
            server.opened(port, on: connection, at: now)
        } else {
            server.openingFailed(on: connection)
        }
    }

    /// Drops datagrams that do not come from the media port.
    mutating func received(
        _ datagram: [UInt8], from address: TransportAddress, on connection: UInt32, at now: Instant
    ) {
        guard let index = addresses.firstIndex(of: address) else { return }
        server.relayed(datagram, from: peers[index], on: connection, at: now)
    }

    mutating func advance(to now: Instant) { server.advance(to: now) }

    var deadline: Instant? { server.deadline }

    mutating func pollOutput() -> StreamServerOutput? {
        while let output = server.poll() {
            switch output {
            case .send(let bytes, let connection):
                return .send(bytes, mayBeDropped: TURNStreamReader.isData(bytes), connection)
            case .open(let connection): return .open(address, connection)
            case .relay(let bytes, let peer, let connection):
                guard let index = peers.firstIndex(of: peer) else { continue }
                return .sendDatagram(bytes, to: addresses[index], connection)
            case .close(let connection): return .close(connection)
            }
        }
        return nil
    }
}

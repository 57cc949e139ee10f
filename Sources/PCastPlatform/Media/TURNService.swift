import PCastMedia
import PCastWeb
import PCastWebRTC

/// The TURN server of the platform: what clients know as our media addresses stands for the media port of this machine.
struct TURNService: StreamServerMachine {
    private var server: TURNServer
    /// By the position of an advertised address, where our media is found from here. Each is another, so that what
    /// comes from there is known as what it was sent to: all of 127/8 is this machine's.
    private let places: [TransportAddress]
    private let peers: [TransportAddress]
    /// Ports are opened here.
    private let address: IPAddress

    /// - Parameter listen: where media listens.
    init(
        advertised: [TransportAddress], listen: IPAddress, rtcPort: UInt16, secret: [UInt8], clock: WallClockReference
    ) {
        let isEverywhere = listen == .anyV4
        let peers = advertised.filter { $0.ip.family == (listen.family == .v4 ? .v4 : .v6) }.prefix(200)
        places = peers.indices.map { index in
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

    /// What is not from our media port is nobody's.
    mutating func received(
        _ datagram: [UInt8], from address: TransportAddress, on connection: UInt32, at now: Instant
    ) {
        guard let index = places.firstIndex(of: address) else { return }
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
                return .sendDatagram(bytes, to: places[index], connection)
            case .close(let connection): return .close(connection)
            }
        }
        return nil
    }
}

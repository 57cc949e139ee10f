import PCastCore
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// A TURN server with clients of this project and of the test, and the streams between them, on virtual time.
struct TURNTestSetup {
    static let peer = TransportAddress("203.0.113.7:8189")!
    static let otherPeer = TransportAddress("10.0.0.7:8189")!
    static let start = Instant(nanoseconds: 5_000_000_000_000)
    static let clock = WallClockReference(
        instant: start, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000))
    static let secret = Array("a secret that nobody knows".utf8)
    static let client = TransportAddress("198.51.100.9:40000")!

    var server: TURNServer
    var now = Self.start
    /// The bytes that the server wrote to each connection and that were not taken.
    var streams: [UInt32: [UInt8]] = [:]
    /// The datagrams that were sent from relayed addresses.
    var relayed: [(bytes: [UInt8], peer: TransportAddress, connection: UInt32)] = []
    var closed: Set<UInt32> = []
    /// Whether relayed addresses are available.
    var hasPorts = true
    private var readers: [UInt32: TURNStreamReader] = [:]

    init(perUser: Int = 8, perAddress: Int = 100, total: Int = 100) {
        server = TURNServer(
            configuration: TURNServerConfiguration(
                secret: Self.secret, clock: Self.clock, peers: [Self.peer, Self.otherPeer],
                maximumAllocationsPerUser: perUser, maximumAllocationsPerAddress: perAddress,
                maximumAllocations: total),
            generator: SeededGenerator(seed: 9))
    }

    static func credentials(_ user: String = "viewer", lasting: TimeSpan = .seconds(3600)) -> TURNCredentials {
        .make(secret: secret, user: user, expiry: clock.wallTime + lasting)
    }

    mutating func connect(_ connection: UInt32, from client: TransportAddress = TURNTestSetup.client) {
        server.connected(connection, from: client, at: now)
        drain()
    }

    mutating func send(_ bytes: [UInt8], _ connection: UInt32) {
        server.received(bytes, on: connection, at: now)
        drain()
    }

    mutating func drain() {
        while let output = server.poll() {
            switch output {
            case .send(let bytes, let connection): streams[connection, default: []] += bytes
            case .open(let connection):
                if hasPorts {
                    server.opened(UInt16(50_000 + connection), on: connection, at: now)
                } else {
                    server.openingFailed(on: connection)
                }
            case .relay(let bytes, let peer, let connection): relayed.append((bytes, peer, connection))
            case .close(let connection): closed.insert(connection)
            }
        }
    }

    /// Returns the client's next message.
    mutating func answer(_ connection: UInt32) -> TURNMessage? {
        readers[connection, default: TURNStreamReader()].append(streams.removeValue(forKey: connection) ?? [])
        guard case .frame(.message(let bytes)) = readers[connection, default: TURNStreamReader()].next() else {
            return nil
        }
        return TURNMessage(bytes)
    }

    // MARK: A client under the control of the test

    /// Sends a request, gets a challenge, and repeats the request with its credentials.
    mutating func ask(
        _ method: TURNMessage.Method, _ connection: UInt32,
        _ credentials: TURNCredentials = TURNTestSetup.credentials(),
        algorithm: TURNKey.Algorithm = .md5, password: String? = nil,
        _ body: (inout TURNMessageWriter) -> Void = { _ in }
    ) -> TURNMessage? {
        send(request(method, body: body), connection)
        guard let challenge = answer(connection), challenge.errorCode == 401,
            let nonce = challenge.text(STUNAttributeType.nonce), let realm = challenge.text(STUNAttributeType.realm)
        else { return nil }
        let key = TURNKey(
            algorithm, username: credentials.username, realm: realm, password: password ?? credentials.password)
        let offered = Array(challenge.value(TURNAttributeType.passwordAlgorithms) ?? [])
        send(
            request(method, key: key) { writer in
                body(&writer)
                writer.add(STUNAttributeType.username, text: credentials.username)
                writer.add(STUNAttributeType.realm, text: realm)
                writer.add(STUNAttributeType.nonce, text: nonce)
                if algorithm == .sha256 {
                    writer.add(TURNAttributeType.passwordAlgorithms, offered)
                    writer.add(TURNAttributeType.passwordAlgorithm, [0, 2, 0, 0])
                }
            }, connection)
        let answer = answer(connection)
        if let answer, answer.messageClass == .success { #expect(answer.verify(key)) }
        return answer
    }

    func request(
        _ method: TURNMessage.Method, key: TURNKey? = nil, body: (inout TURNMessageWriter) -> Void = { _ in }
    ) -> [UInt8] {
        var writer = TURNMessageWriter(method, .request, STUNTransactionID(high: 1, low: UInt64(method.rawValue)))
        body(&writer)
        return writer.finish(key)
    }

    mutating func allocate(
        _ connection: UInt32, _ credentials: TURNCredentials = TURNTestSetup.credentials(),
        algorithm: TURNKey.Algorithm = .md5, password: String? = nil, transport: UInt32 = 17, family: UInt32? = nil
    ) -> TURNMessage? {
        ask(.allocate, connection, credentials, algorithm: algorithm, password: password) { writer in
            writer.add(TURNAttributeType.requestedTransport, number: transport << 24)
            if let family { writer.add(TURNAttributeType.requestedAddressFamily, number: family << 24) }
        }
    }

    mutating func bind(_ channel: UInt16, to peer: TransportAddress, _ connection: UInt32) -> TURNMessage? {
        ask(.channelBind, connection) { writer in
            writer.add(TURNAttributeType.channelNumber, number: UInt32(channel) << 16)
            writer.add(TURNAttributeType.xorPeerAddress, address: peer)
        }
    }
}

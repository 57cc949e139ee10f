import PCastCore
import PCastWebRTC

/// A stream to the TURN server and to the project's client, whole and divided in two.
enum TURNTarget {
    private static let now = Instant(nanoseconds: 1_000_000_000_000)
    private static let peer = TransportAddress("203.0.113.7:8189")!
    private static let clock = WallClockReference(
        instant: now, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000))
    private static let secret = Array("secret".utf8)
    private static let credentials = TURNCredentials.make(
        secret: secret, user: "u", expiry: clock.wallTime + .seconds(600 as Int64))

    private struct Fixed: RandomNumberGenerator, Sendable {
        mutating func next() -> UInt64 { 0x1234_5678_9ABC_DEF0 }
    }

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var reader = TURNStreamReader()
        reader.append(bytes)
        var frames = 0
        while case .frame(let frame) = reader.next() {
            frames += 1
            if case .message(let bytes) = frame, let message = TURNMessage(bytes) {
                try check(message.bytes == bytes, "a message of other bytes")
            }
        }
        try serve(bytes)
        try read(bytes)
        return frames > 0
    }

    private static func serve(_ bytes: [UInt8]) throws(BrokenInvariant) {
        for cut in [bytes.count, bytes.count / 2] {
            var server = TURNServer(
                configuration: TURNServerConfiguration(secret: secret, clock: clock, peers: [peer]),
                generator: Fixed())
            var client = TURNClient(credentials: credentials, peer: peer, seed: 1)
            server.connected(1, from: TransportAddress("198.51.100.1:1")!, at: now)
            client.connected(at: now)
            // An established client may send more than an unauthenticated one.
            for _ in 0..<6 {
                while case .send(let sent)? = client.poll() { server.received(sent, on: 1, at: now) }
                try drain(&server) { client.received($0, at: now) }
            }
            try check(client.state == .ready, "our client is not served")
            server.received(bytes[..<cut], on: 1, at: now)
            server.received(bytes[cut...], on: 1, at: now)
            try drain(&server) { _ in }
            server.advance(to: now + .seconds(4000 as Int64))
            try drain(&server) { _ in }
            try check(server.allocationCount == 0, "an allocation for ever")
        }
    }

    private static func drain(
        _ server: inout TURNServer, _ sent: ([UInt8]) -> Void
    ) throws(BrokenInvariant) {
        while let output = server.poll() {
            switch output {
            case .send(let bytes, _):
                try check(bytes.count <= TURNStreamReader.maximumFrameSize, "an answer beyond all bounds")
                sent(bytes)
            case .open(let connection): server.opened(50_000, on: connection, at: now)
            case .relay(let bytes, let to, _):
                try check(to == peer, "relayed to \(to)")
                try check(bytes.count <= 1_500, "a datagram of \(bytes.count) bytes")
            case .close: break
            }
        }
    }

    private static func read(_ bytes: [UInt8]) throws(BrokenInvariant) {
        var client = TURNClient(credentials: credentials, peer: peer, seed: 1)
        client.connected(at: now)
        client.received(bytes, at: now)
        while client.poll() != nil {}
        try check(client.state != .ready, "ready without a server")
        client.advance(to: now + .seconds(60 as Int64))
    }

    /// Channel data, the first request of a client, and its second one with an old nonce.
    static let corpus: [[UInt8]] = [
        [0x40, 0x00, 0x00, 0x05, 1, 2, 3, 4, 5, 0, 0, 0],
        hexadecimal("00030008 2112a442 000000000000000000000001 00190004 11000000"),
        hexadecimal(
            """
            00090014 2112a442 000000000000000000000002 000c0004 40010000 00120008 0001 3efb ea12 d545
            """),
        hexadecimal("00160014 2112a442 000000000000000000000003 00120008 00013efbea12d545 00130004 01020304"),
    ]
}

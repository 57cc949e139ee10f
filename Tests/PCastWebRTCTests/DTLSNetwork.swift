import PCastCore
import PCastTestSupport

@testable import PCastWebRTC

/// Two ends of a handshake on a network of virtual time that delays, reorders, loses and repeats.
struct DTLSNetwork {
    private struct Flying {
        var arrival: Instant
        var toServer: Bool
        var bytes: [UInt8]
    }

    let client: any DTLSHandshake
    let server: any DTLSHandshake
    var now = Instant(nanoseconds: 5_000_000_000)
    /// The probability that a datagram is lost, in percent.
    var loss = 0
    /// The probability that it comes twice, in percent.
    var repetition = 0
    /// Modifies a datagram in transit; an empty result is a loss.
    var alter: (_ datagram: [UInt8], _ toServer: Bool) -> [[UInt8]] = { datagram, _ in [datagram] }
    private(set) var largestDatagram = 0
    private(set) var datagrams = 0
    private var flying: [Flying] = []
    private var generator: SeededGenerator

    init(client: any DTLSHandshake, server: any DTLSHandshake, seed: UInt64 = 1) {
        self.client = client
        self.server = server
        generator = SeededGenerator(seed: seed)
    }

    /// Runs for at most this time. Ends early if no datagram is in transit and no timer is pending.
    mutating func run(for span: TimeSpan = .seconds(40)) {
        let end = now + span
        server.start(at: now)
        client.start(at: now)
        while true {
            send(client, toServer: true)
            send(server, toServer: false)
            flying.sort { $0.arrival < $1.arrival }
            let deadline = Instant.earlier(client.deadline, server.deadline)
            guard let next = Instant.earlier(flying.first?.arrival, deadline), next <= end else { return }
            now = max(now, next)
            while let first = flying.first, first.arrival <= now {
                flying.removeFirst()
                (first.toServer ? server : client).receive(first.bytes, at: now)
            }
            client.advance(to: now)
            server.advance(to: now)
        }
    }

    private mutating func send(_ end: any DTLSHandshake, toServer: Bool) {
        for original in end.datagrams() {
            largestDatagram = max(largestDatagram, original.count)
            datagrams += 1
            for datagram in alter(original, toServer) {
                let copies = Int.random(in: 0..<100, using: &generator) < repetition ? 2 : 1
                for _ in 0..<copies where Int.random(in: 0..<100, using: &generator) >= loss {
                    let delay = TimeSpan.milliseconds(Int64.random(in: 10...40, using: &generator))
                    flying.append(Flying(arrival: now + delay, toServer: toServer, bytes: datagram))
                }
            }
        }
    }
}

extension DTLSHandshake {
    /// Returns all datagrams that wait to be sent.
    func datagrams() -> [[UInt8]] {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var datagrams: [[UInt8]] = []
        while let length = buffer.withMutableByteView({ poll(into: $0) }) {
            datagrams.append(Array(buffer[..<length]))
        }
        return datagrams
    }

    func receive(_ datagram: [UInt8], at now: Instant) {
        datagram.withByteView { handle($0, at: now) }
    }

    var keys: SRTPKeyingMaterial? {
        guard case .established(let keys) = state else { return nil }
        return keys
    }
}

/// The certificates of the tests, created once.
enum DTLSTestCertificates {
    static let wallTime = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
    static let client = make()
    static let server = make()

    static func make() -> DTLSCertificate {
        guard let certificate = try? DTLSCertificate.generate(at: wallTime) else { fatalError("no certificate") }
        return certificate
    }

    /// Returns both ends of a handshake. Each knows the other's fingerprint.
    static func ends(
        client: DTLSCertificate = client, server: DTLSCertificate = server
    ) -> (client: OpenSSLHandshake, server: OpenSSLHandshake) {
        (
            OpenSSLHandshake(certificate: client, role: .client, expectedFingerprints: [server.fingerprint]),
            OpenSSLHandshake(certificate: server, role: .server, expectedFingerprints: [client.fingerprint])
        )
    }
}

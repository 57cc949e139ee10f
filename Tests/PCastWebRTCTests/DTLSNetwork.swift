import COpenSSL
import PCastCore
import PCastNetworkEmulation
import Testing

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
        while let length = buffer.withUnsafeMutableBytes({ poll(into: $0) }) {
            datagrams.append(Array(buffer[..<length]))
        }
        return datagrams
    }

    func receive(_ datagram: [UInt8], at now: Instant) {
        datagram.withUnsafeBytes { handle($0, at: now) }
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

/// Certificates on other curves (RFC 8827, section 6.5 requires P-256 and forbids none).
struct DTLSCurveTests {
    @Test(
        "a peer's certificate may be on any of the usual curves, in both roles",
        arguments: ["P-256", "P-384", "P-521", "secp224r1"], [DTLSRole.client, .server])
    func curves(curve: String, role: DTLSRole) throws {
        let key = try #require(pcast_evp_ec_gen(curve))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ours = OpenSSLHandshake(
            certificate: DTLSTestCertificates.server, role: role == .client ? .server : .client,
            expectedFingerprints: [certificate.fingerprint])
        // The peer's list contains its own curve, like GnuTLS for secp224r1 and unlike OpenSSL's default.
        let groups = ["X25519", "P-256"] + (curve == "P-256" ? [] : [curve])
        let peer = DTLSForeignPeer(role, certificate: certificate, groups: groups.joined(separator: ":"))
        var network =
            role == .client ? DTLSNetwork(client: peer, server: ours) : DTLSNetwork(client: ours, server: peer)
        network.run()
        #expect(ours.keys != nil, "\(ours.state)")
        #expect(peer.isFinished)
    }

    @Test(
        "a client may use a certificate on secp224r1 without listing it, like GnuTLS",
        arguments: ["X448", "brainpoolP256r1"])
    func unlisted(spare: String) throws {
        let key = try #require(pcast_evp_ec_gen("secp224r1"))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ours = OpenSSLHandshake(
            certificate: DTLSTestCertificates.server, role: .server, expectedFingerprints: [certificate.fingerprint])
        let peer = DTLSForeignPeer(.client, certificate: certificate, groups: "P-256:X25519:P-384:\(spare)")
        var network = DTLSNetwork(client: peer, server: ours)
        network.run()
        #expect(ours.keys != nil, "\(ours.state)")
        #expect(peer.isFinished)
    }

    @Test("key agreement uses X25519 if the peer supports it, and P-256 otherwise")
    func preference() {
        #expect(DTLSCertificate.groups.hasPrefix("X25519:P-256:"))
        for groups in ["P-521:P-384:P-256", "P-256"] {
            let server = DTLSTestCertificates.ends().server
            let peer = DTLSForeignPeer(.client, certificate: DTLSTestCertificates.client, groups: groups)
            var network = DTLSNetwork(client: peer, server: server)
            network.run()
            #expect(server.keys != nil && peer.isFinished)
        }
    }
}

/// The path of a transport, and its notification of a change.
struct TransportPathTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func path(tcp connection: UInt32? = nil) -> NetworkPath {
        NetworkPath(
            transport: connection.map { .tcp(connection: $0) } ?? .udp, local: ICENetwork.serverAddress,
            remote: ICENetwork.clientAddress)
    }

    private func server() -> SecureTransport {
        let agent = ICELiteAgent(local: ICENetwork.serverCredentials, remote: ICENetwork.clientCredentials)
        return SecureTransport(lite: agent, handshake: DTLSTestCertificates.ends().server, seed: 1)
    }

    /// Makes the client check a path.
    private func check(
        _ path: NetworkPath, nominating: Bool, at now: Instant, of transport: inout SecureTransport
    ) {
        let (local, remote) = (ICENetwork.serverCredentials, ICENetwork.clientCredentials)
        var bytes = stunMessage(.request, key: local.password) { writer in
            writer.addUsername(recipient: Array(local.ufrag.utf8), sender: Array(remote.ufrag.utf8))
            writer.addPriority(1)
            writer.addRole(.controlling(tieBreaker: 5))
            if nominating { writer.addUseCandidate() }
        }
        bytes.withUnsafeMutableBytes { _ = transport.handle($0, from: path, at: now) }
    }

    /// Returns the events of a transport since the last call.
    private func news(of transport: inout SecureTransport) -> [SecureTransport.Event] {
        var news: [SecureTransport.Event] = []
        while let event = transport.pollEvent() { news.append(event) }
        return news
    }

    @Test("a closing connection in use is replaced by another path, which is a change like others")
    func fallsBack() {
        var transport = server()
        check(path(), nominating: false, at: start, of: &transport)
        let first = news(of: &transport)
        #expect(first.isEmpty, "the first path is not a change")
        check(path(tcp: 2), nominating: true, at: start, of: &transport)
        let nominated = news(of: &transport)
        #expect(nominated == [.pathChanged(path(tcp: 2))])
        transport.pathClosed(path(tcp: 2), at: start)
        let (left, closed) = (transport.path, news(of: &transport))
        #expect(left == path())
        #expect(closed == [.pathChanged(path())])
    }

    @Test("without another path the next one is a change, and the end of an unused one is not")
    func comesBack() {
        var transport = server()
        check(path(tcp: 1), nominating: true, at: start, of: &transport)
        transport.pathClosed(path(tcp: 9), at: start)
        transport.pathClosed(path(tcp: 1), at: start)
        let (left, closed) = (transport.path, news(of: &transport))
        #expect(left == nil)
        #expect(closed.isEmpty)
        check(path(tcp: 2), nominating: true, at: start + .seconds(1 as Int64), of: &transport)
        let nominated = news(of: &transport)
        #expect(nominated == [.pathChanged(path(tcp: 2))])
    }
}

import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// A client that embeds its handshake in connectivity checks (draft-hancke-webrtc-sped-00), and the transport of a server.
struct EmbeddedHandshakeTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private static let path = NetworkPath(local: ICENetwork.serverAddress, remote: ICENetwork.clientAddress)

    /// The client's end. It sends one datagram of its flight with each check until that is acknowledged.
    private final class Client {
        let handshake: any DTLSHandshake
        private var flight: [[UInt8]] = []
        private(set) var received: [UInt32] = []
        private var transaction: UInt64 = 0

        init(_ handshake: any DTLSHandshake, at now: Instant) {
            self.handshake = handshake
            handshake.start(at: now)
            flight = handshake.datagrams()
        }

        var isEstablished: Bool { if case .established = handshake.state { true } else { false } }

        /// Returns a check with the first datagram that is not acknowledged.
        func check(key: String = ICENetwork.serverCredentials.password, embedding datagram: [UInt8]? = nil) -> [UInt8] {
            transaction += 1
            return Self.check(transaction, key: key) {
                $0.addEmbedded(datagram ?? flight.first ?? [], acknowledging: received)
            }
        }

        static func check(
            _ transaction: UInt64, key: String = ICENetwork.serverCredentials.password,
            _ add: (inout STUNMessageWriter) -> Void = { _ in }
        ) -> [UInt8] {
            let (local, remote) = (ICENetwork.serverCredentials, ICENetwork.clientCredentials)
            return [UInt8](capacity: STUNMessage.maximumSize) { (buffer: MutableByteView) in
                var writer = STUNMessageWriter(
                    .request, transactionID: STUNTransactionID(high: 1, low: transaction), into: buffer)
                writer.addUsername(recipient: Array(local.ufrag.utf8), sender: Array(remote.ufrag.utf8))
                writer.addPriority(1)
                writer.addRole(.controlling(tieBreaker: 5))
                add(&writer)
                return writer.finish(key: Array(key.utf8))
            }
        }

        /// Processes a response, and returns the datagram in it.
        @discardableResult
        func receive(_ response: [UInt8], at now: Instant) throws -> [UInt8] {
            let parsed = STUNMessage.parse(response.span)
            let message = try #require(parsed)
            #expect(message.messageClass == .success)
            let isAuthentic = message.verifyIntegrity(
                response.span, key: Array(ICENetwork.serverCredentials.password.utf8))
            #expect(isAuthentic)
            let acknowledged = message.acknowledgementsRange.map { response.checksums($0) } ?? []
            flight.removeAll { acknowledged.contains($0.checksum) }
            let datagram = message.embeddedDatagramRange.map { Array(response[$0]) } ?? []
            if !datagram.isEmpty { receive(handshake: datagram, at: now) }
            return datagram
        }

        /// Processes a datagram of the handshake that came with a response or without one.
        func receive(handshake datagram: [UInt8], at now: Instant) {
            guard !received.contains(datagram.checksum) else { return }
            received.append(datagram.checksum)
            handshake.receive(datagram, at: now)
            let next = handshake.datagrams()
            if !next.isEmpty { flight = next }
        }
    }

    private func server(_ handshake: any DTLSHandshake) -> SecureTransport {
        let agent = ICELiteAgent(local: ICENetwork.serverCredentials, remote: ICENetwork.clientCredentials)
        return SecureTransport(lite: agent, handshake: handshake, seed: 1)
    }

    /// Passes a datagram to the server and returns its datagrams.
    private func exchange(
        _ datagram: [UInt8], with server: inout SecureTransport, admitting: Bool = true, at now: Instant
    ) -> [[UInt8]] {
        let message = STUNMessage.parse(datagram.span)
        server.handle(message, in: datagram.span, from: Self.path, admitsHandshake: admitting, at: now)
        var batch = DatagramBatch()
        _ = server.poll(into: &batch, at: now)
        return (0..<batch.count).map { Array(batch.bytes(of: batch[$0])) }
    }

    /// Passes a check to the server and returns its first datagram, which is the response.
    private func firstDatagram(
        _ check: [UInt8], from server: inout SecureTransport, at now: Instant
    ) throws -> [UInt8] {
        let datagrams = exchange(check, with: &server, at: now)
        return try #require(datagrams.first)
    }

    @Test("the server has its keys with the second check, and the client with the response to it")
    func twoRoundTrips() throws {
        let ends = DTLSTestCertificates.ends()
        let client = Client(ends.client, at: start)
        var server = server(ends.server)
        let first = exchange(client.check(), with: &server, at: start)
        for datagram in first {
            if DatagramKind(datagram.span) == .stun {
                try client.receive(datagram, at: start)
            } else {
                client.receive(handshake: datagram, at: start)
            }
        }
        #expect(first.count == 1, "the flight of an ECDSA certificate is one datagram")
        #expect((first.first?.count ?? .max) <= 1_232)
        let isEarly = server.isConnected
        #expect(!isEarly)
        let second = exchange(client.check(), with: &server, at: start + .milliseconds(50))
        let isConnected = server.isConnected
        #expect(isConnected)
        for datagram in second where DatagramKind(datagram.span) == .stun {
            try client.receive(datagram, at: start + .milliseconds(50))
        }
        for datagram in second where DatagramKind(datagram.span) == .dtls {
            client.receive(handshake: datagram, at: start + .milliseconds(50))
        }
        #expect(client.isEstablished)
    }

    @Test("a response that is lost is repeated with the same flight, and the handshake continues")
    func lostResponse() throws {
        let ends = DTLSTestCertificates.ends()
        let client = Client(ends.client, at: start)
        var server = server(ends.server)
        let lost = try firstDatagram(client.check(), from: &server, at: start)
        let repeated = try firstDatagram(client.check(), from: &server, at: start + .milliseconds(20))
        let flight = try client.receive(repeated, at: start)
        #expect(!flight.isEmpty)
        #expect(lost.contains(flight))
        _ = exchange(client.check(), with: &server, at: start + .milliseconds(40))
        // The response with the final flight is lost, too.
        let last = try firstDatagram(client.check(), from: &server, at: start + .milliseconds(60))
        try client.receive(last, at: start + .milliseconds(60))
        #expect(client.isEstablished)
        // A datagram that the client has acknowledged is not sent again.
        let acknowledged = try firstDatagram(client.check(), from: &server, at: start + .milliseconds(80))
        #expect(try client.receive(acknowledged, at: start + .milliseconds(80)).isEmpty)
    }

    @Test("a datagram that is not admitted is not acknowledged, so the client repeats it")
    func notAdmitted() throws {
        let ends = DTLSTestCertificates.ends()
        let client = Client(ends.client, at: start)
        var server = server(ends.server)
        let refused = exchange(client.check(), with: &server, admitting: false, at: start)
        #expect(refused.count == 1)
        let message = try #require(refused.first.flatMap { STUNMessage.parse($0.span) })
        #expect(
            message.embeddedDatagramRange?.isEmpty == true, "the response names the attribute, so the client continues")
        #expect(message.acknowledgementsRange?.isEmpty == true)
        let later = try firstDatagram(client.check(), from: &server, at: start + .milliseconds(20))
        #expect(try client.receive(later, at: start + .milliseconds(20)).isEmpty == false)
    }

    @Test("a client that embeds nothing gets a response without the attributes, and its handshake without checks")
    func notOffered() throws {
        let ends = DTLSTestCertificates.ends()
        var server = server(ends.server)
        let responses = exchange(Client.check(1), with: &server, at: start)
        let message = try #require(responses.first.flatMap { STUNMessage.parse($0.span) })
        #expect(!message.isEmbedding)
        #expect(message.size <= Client.check(1).count)
    }

    @Test(
        "what is no DTLS, or is not authentic, does not reach the handshake",
        arguments: [[], [0x64, 0x72, 0x6F], [0x80, 1, 2, 3], [UInt8](repeating: 22, count: 1_200)] as [[UInt8]])
    func garbage(datagram: [UInt8]) throws {
        let ends = DTLSTestCertificates.ends()
        let client = Client(ends.client, at: start)
        var server = server(ends.server)
        let responses = exchange(client.check(embedding: datagram), with: &server, at: start)
        #expect(responses.count == 1)
        #expect(try client.receive(try #require(responses.first), at: start).isEmpty)
        let forged = exchange(client.check(key: "another-password-of-22-chars"), with: &server, at: start)
        let refusal = try #require(forged.first.flatMap { STUNMessage.parse($0.span) })
        #expect(refusal.messageClass == .error)
        #expect(!refusal.isEmbedding)
        // The handshake is possible afterwards.
        let response = try firstDatagram(client.check(), from: &server, at: start)
        #expect(try client.receive(response, at: start).isEmpty == false)
    }

    @Test("at most four datagrams are acknowledged, the last ones")
    func acknowledgementLimit() {
        var embedded = EmbeddedHandshake()
        let datagrams = (0..<6).map { [UInt8](repeating: UInt8(20 + $0), count: 30) }
        for datagram in datagrams + datagrams.suffix(2) { _ = datagram.withByteView { embedded.receive($0) } }
        #expect(embedded.received == datagrams.suffix(4).map(\.checksum))
    }

    @Test("the datagrams of a flight take turns, and one that is too large is sent without a check")
    func turns() {
        var embedded = EmbeddedHandshake()
        let (large, first, second) = ([UInt8](repeating: 22, count: 1_101), [22, 1] as [UInt8], [22, 2] as [UInt8])
        let apart = embedded.send([large, first, second])
        #expect(apart == [large, second])
        let turns = (0..<3).map { _ in embedded.nextDatagram() }
        #expect(turns == [first, second, first])
        embedded.release()
        let released = embedded.nextDatagram()
        #expect(released == nil)
    }

    @Test("the checksum is CRC-32, with the check value of the standard")
    func checksum() { #expect(Array("123456789".utf8).checksum == 0xCBF4_3926) }

    @Test("an answer of a lite agent names the options of the offer, and no others", arguments: [true, false])
    func options(isLite: Bool) throws {
        var offer = try SessionDescription(parsing: SDPSamples.chromiumPublisherOffer)
        for index in offer.media.indices { offer.media[index].iceOptions = ["trickle", "sped", "googspedv1", "other"] }
        var transport = TransportDescription.test
        transport.isLite = isLite
        let answer = try Answer(
            to: offer, originSessionID: 1, transport: transport, capabilities: MediaCapabilities()
        ) { _, _ in .receive }
        let options = answer.description.media.filter { !$0.isRejected }.map(\.iceOptions)
        #expect(!options.isEmpty)
        #expect(options.allSatisfy { $0 == (isLite ? ["trickle", "sped", "googspedv1"] : ["trickle"]) })
    }
}

extension [UInt8] {
    fileprivate var checksum: UInt32 { withByteView { CRC32.value(of: $0) } }

    fileprivate func checksums(_ range: Range<Int>) -> [UInt32] {
        stride(from: range.lowerBound, to: range.upperBound, by: 4).map { offset in
            self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    fileprivate func contains(_ other: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: other) }
    }
}

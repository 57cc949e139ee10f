import PCastCore
import PCastRTP
import Testing

@testable import PCastWebRTC

/// Media that overtakes the end of the handshake.
struct EarlyPacketTests {
    private static let clientAddress = TransportAddress("10.0.0.2:5000")!
    private static let serverAddress = TransportAddress("192.0.2.10:8189")!
    private static let up = NetworkPath(local: serverAddress, remote: clientAddress)
    private static let down = NetworkPath(local: clientAddress, remote: serverAddress)

    /// Two ends of a transport, and the final flight of the server, which is the DTLS client, while it is delayed.
    private struct Pair: ~Copyable {
        var client: SecureTransport
        var server: SecureTransport
        var now = Instant(nanoseconds: 1_000_000_000_000)
        private(set) var held: [[UInt8]] = []

        init() {
            let theirs = ICECredentials(ufrag: "server", password: "server-password-server")!
            let ours = ICECredentials(ufrag: "client", password: "client-password-client")!
            var agent = ICEControllingAgent(
                local: ours, remote: theirs, tieBreaker: 1, addresses: [EarlyPacketTests.clientAddress], seed: 1)
            agent.addRemoteCandidate(.host(EarlyPacketTests.serverAddress), at: now)
            let ends = DTLSTestCertificates.ends()
            client = SecureTransport(controlling: agent, handshake: ends.server, seed: 2)
            server = SecureTransport(lite: ICELiteAgent(local: theirs, remote: ours), handshake: ends.client, seed: 3)
        }

        /// Runs both ends until the server has its keys, before the end of the handshake. Its DTLS messages from then on
        /// are delayed.
        mutating func runUntilServerIsConnected() {
            for _ in 0..<2_000 where !server.isConnected {
                client.advance(to: now)
                for datagram in EarlyPacketTests.output(of: &client, at: now) { deliver(datagram, toServer: true) }
                for datagram in EarlyPacketTests.output(of: &server, at: now) {
                    let isHandshake = datagram.first.map { (20...23).contains($0) } ?? false
                    if server.isConnected, isHandshake {
                        held.append(datagram)
                    } else {
                        deliver(datagram, toServer: false)
                    }
                }
                now = now + .milliseconds(5)
            }
        }

        /// Advances the server to its deadline, and returns its datagrams.
        mutating func serverOutputAtDeadline() -> [[UInt8]] {
            now = server.deadline ?? now
            server.advance(to: now)
            return EarlyPacketTests.output(of: &server, at: now)
        }

        /// - Returns: The length of the unencrypted packet; nil if there is none.
        @discardableResult
        mutating func deliver(_ datagram: [UInt8], toServer: Bool) -> Int? {
            var datagram = datagram
            let received = datagram.withMutableByteView { bytes in
                toServer
                    ? server.handle(bytes, from: EarlyPacketTests.up, at: now)
                    : client.handle(bytes, from: EarlyPacketTests.down, at: now)
            }
            if case .rtp(let length) = received { return length }
            return nil
        }
    }

    private static func output(of transport: inout SecureTransport, at now: Instant) -> [[UInt8]] {
        var batch = DatagramBatch()
        _ = transport.poll(into: &batch, at: now)
        return (0..<batch.count).map { Array(batch.bytes(of: batch[$0])) }
    }

    private static func packet(_ number: UInt16, by transport: inout SecureTransport) -> [UInt8] {
        let header = RTPHeader(payloadType: 96, sequenceNumber: number, timestamp: 7, ssrc: 5)
        var bytes = [UInt8](repeating: 0, count: 200)
        let length = bytes.withMutableByteView { room in
            let size = header.write(into: room, extensions: RTPExtensionValues(), map: RTPHeaderExtensionMap()).size
            return transport.protectRTP(room, length: size + 10, headerSize: size)
        }
        return Array(bytes[..<length])
    }

    @Test("packets that arrive before the end of the handshake are held within a limit and read after it")
    func earlyPacketsAreQueued() throws {
        var pair = Pair()
        pair.runUntilServerIsConnected()
        let (server, client) = (pair.server.isConnected, pair.client.isConnected)
        try #require(server && !client)
        for number in 1...100 {
            let length = pair.deliver(Self.packet(UInt16(number), by: &pair.server), toServer: false)
            #expect(length == nil)
        }
        let rejected = pair.client.rejected
        #expect(rejected == 0, "early packets must not be counted as rejected")
        let none = pair.client.takeEarlyPacket()
        #expect(none == nil)
        let held = pair.held
        #expect(!held.isEmpty)
        for datagram in held { pair.deliver(datagram, toServer: false) }
        let isConnected = pair.client.isConnected
        #expect(isConnected)
        var numbers: [UInt16] = []
        while let early = pair.client.takeEarlyPacket() {
            #expect(early.path == Self.down)
            var bytes = early.bytes
            let (now, path) = (pair.now, early.path)
            let received = bytes.withMutableByteView { pair.client.handle($0, from: path, at: now) }
            guard case .rtp(let length) = received else { continue }
            if let header = RTPHeader.parse(Array(bytes[..<length]).span) { numbers.append(header.sequenceNumber) }
        }
        #expect(numbers == Array(1...64))
    }

    @Test("a DTLS client sends media with its final flight, which it repeats until that of the other end arrives")
    func sendingEarly() throws {
        var pair = Pair()
        pair.runUntilServerIsConnected()
        // The flight is lost, and repeated.
        let repeated = pair.serverOutputAtDeadline()
        #expect(repeated.contains { Self.isHandshake($0) })
        for datagram in repeated { pair.deliver(datagram, toServer: false) }
        let isConnected = pair.client.isConnected
        #expect(isConnected)
        let down = pair.deliver(Self.packet(1, by: &pair.server), toServer: false)
        #expect(down != nil)
        // The final flight of the other end is lost, too. Its packets are decrypted without it.
        let lost = Self.output(of: &pair.client, at: pair.now)
        #expect(lost.contains { Self.isHandshake($0) })
        let up = pair.deliver(Self.packet(1, by: &pair.client), toServer: true)
        #expect(up != nil)
        let flight = pair.serverOutputAtDeadline()
        #expect(flight.contains { Self.isHandshake($0) })
        for datagram in flight { pair.deliver(datagram, toServer: false) }
        let answer = Self.output(of: &pair.client, at: pair.now)
        #expect(answer.contains { Self.isHandshake($0) })
        for datagram in answer { pair.deliver(datagram, toServer: true) }
        // The handshake is over.
        let later = pair.now + .seconds(4 as Int64)
        pair.server.advance(to: later)
        let silence = Self.output(of: &pair.server, at: later)
        #expect(!silence.contains { Self.isHandshake($0) })
        let remains = pair.server.isConnected
        #expect(remains)
    }

    private static func isHandshake(_ datagram: [UInt8]) -> Bool { datagram.first == 20 || datagram.first == 22 }
}

import PCastCore
import Testing

@testable import PCastWebRTC

/// The clients that the TURN server serves, and those that it rejects.
struct TURNServerTests {
    @Test("RFC 5769, section 2.4: a long-term credential's integrity equals the RFC's")
    func vector() throws {
        let bytes = try #require(
            Self.bytes(
                """
                00010060 2112a442 78ad3433 c6ad72c0 29da412e 00060012 e3839ee3 8388e383 aae38383 e382afe3 82b90000
                0015001c 662f2f34 39396b39 35346436 4f4c3334 6f4c3946 53547679 36347341
                0014000b 6578616d 706c652e 6f726700 00080014 f6702465 6dd64a3e 02b8e071 2e85c9a2 8ca89666
                """))
        let message = try #require(TURNMessage(bytes))
        let username = "\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}"
        #expect(message.text(STUNAttributeType.username) == username)
        #expect(message.verify(TURNKey(.md5, username: username, realm: "example.org", password: "TheMatrIX")))
        #expect(!message.verify(TURNKey(.md5, username: username, realm: "example.org", password: "TheMatrix")))
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.filter(\.isHexDigit))
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
    }

    @Test("a client is challenged, and then relayed", arguments: [TURNKey.Algorithm.md5, .sha256])
    func allocates(algorithm: TURNKey.Algorithm) throws {
        var stage = TURNTestSetup()
        stage.connect(1)
        let given = stage.allocate(1, algorithm: algorithm)
        let answer = try #require(given)
        #expect(answer.messageClass == .success)
        let relayed = TransportAddress(ip: TURNTestSetup.peer.ip, port: 50_001)
        #expect(answer.addresses(TURNAttributeType.xorRelayedAddress) == [relayed])
        #expect(answer.addresses(STUNAttributeType.xorMappedAddress) == [TURNTestSetup.client])
        #expect(answer.number32(TURNAttributeType.lifetime) == 600)
        #expect(stage.bind(0x4001, to: TURNTestSetup.peer, 1)?.messageClass == .success)
        stage.send(TURNStreamReader.channelData(0x4001, [1, 2, 3, 4, 5]), 1)
        #expect(stage.relayed.map(\.bytes) == [[1, 2, 3, 4, 5]] && stage.relayed.map(\.peer) == [TURNTestSetup.peer])
        stage.server.relayed([9, 8, 7], from: TURNTestSetup.peer, on: 1, at: stage.now)
        stage.drain()
        #expect(stage.streams[1] == [0x40, 0x01, 0, 3, 9, 8, 7, 0])
    }

    @Test("without a channel datagrams use indications, for peers with a permission")
    func indications() throws {
        var stage = TURNTestSetup()
        stage.connect(1)
        _ = stage.allocate(1)
        func indication(_ peer: TransportAddress) -> [UInt8] {
            var writer = TURNMessageWriter(.send, .indication, STUNTransactionID(high: 3, low: 4))
            writer.add(TURNAttributeType.xorPeerAddress, address: peer)
            writer.add(TURNAttributeType.data, [7, 7, 7])
            return writer.finish(nil)
        }
        stage.send(indication(TURNTestSetup.peer), 1)
        stage.server.relayed([1], from: TURNTestSetup.peer, on: 1, at: stage.now)
        stage.drain()
        #expect(stage.relayed.isEmpty && stage.streams[1] == nil, "nothing is permitted yet")
        let answer = stage.ask(.createPermission, 1) {
            $0.add(TURNAttributeType.xorPeerAddress, address: TransportAddress(ip: TURNTestSetup.peer.ip, port: 1))
        }
        #expect(answer?.messageClass == .success)
        stage.send(indication(TURNTestSetup.peer), 1)
        #expect(stage.relayed.map(\.bytes) == [[7, 7, 7]])
        stage.server.relayed([1, 2], from: TURNTestSetup.peer, on: 1, at: stage.now)
        stage.drain()
        let received = stage.answer(1)
        let data = try #require(received)
        #expect(data.method == .data && data.value(TURNAttributeType.data).map(Array.init) == [1, 2])
        #expect(data.addresses(TURNAttributeType.xorPeerAddress) == [TURNTestSetup.peer])
        stage.now = stage.now + .seconds(301)
        stage.send(indication(TURNTestSetup.peer), 1)
        #expect(stage.relayed.count == 1, "a permission lasts five minutes")
    }

    @Test("a peer other than the platform is refused: 403")
    func platformAlone() throws {
        var stage = TURNTestSetup()
        stage.connect(1)
        _ = stage.allocate(1)
        for address in ["192.0.2.1:8189", "127.0.0.1:8189", "169.254.169.254:80", "[::1]:8189"] {
            let elsewhere = TransportAddress(address)!
            #expect(stage.bind(0x4001, to: elsewhere, 1)?.errorCode == 403)
            let permission = stage.ask(.createPermission, 1) {
                $0.add(TURNAttributeType.xorPeerAddress, address: elsewhere)
            }
            #expect(permission?.errorCode == 403)
            // A valid request in between does not count as one of an unauthenticated client.
            #expect(stage.ask(.refresh, 1)?.messageClass == .success)
        }
        // The machine is permitted, but this port is not.
        let port = TransportAddress(ip: TURNTestSetup.peer.ip, port: 22)
        #expect(stage.bind(0x4001, to: port, 1)?.errorCode == 403)
        _ = stage.ask(.createPermission, 1) { $0.add(TURNAttributeType.xorPeerAddress, address: port) }
        var writer = TURNMessageWriter(.send, .indication, STUNTransactionID(high: 3, low: 4))
        writer.add(TURNAttributeType.xorPeerAddress, address: port)
        writer.add(TURNAttributeType.data, [7])
        stage.send(writer.finish(nil), 1)
        stage.send(TURNStreamReader.channelData(0x4001, [1]), 1)
        #expect(stage.relayed.isEmpty)
    }

    @Test("a wrong password, an expired or an invented user name is refused: 401")
    func unauthenticated() {
        var stage = TURNTestSetup()
        let attempts: [(TURNCredentials, password: String?)] = [
            (TURNTestSetup.credentials(), "guessed"),
            (TURNTestSetup.credentials(lasting: .seconds(-1)), nil),
            (TURNCredentials(username: "somebody", password: "something"), nil),
            (TURNCredentials(username: "99999999999:admin", password: ""), nil),
        ]
        for (index, attempt) in attempts.enumerated() {
            stage.connect(UInt32(index))
            for algorithm in [TURNKey.Algorithm.md5, .sha256] {
                let answer = stage.allocate(
                    UInt32(index), attempt.0, algorithm: algorithm, password: attempt.password)
                #expect(answer?.errorCode == 401 && answer?.contains(STUNAttributeType.messageIntegrity) == false)
            }
        }
        #expect(stage.server.allocationCount == 0)
    }

    @Test("a nonce that is ten minutes old, or another client's, is stale: 438 has a new one")
    func staleNonce() throws {
        var stage = TURNTestSetup()
        stage.connect(1)
        let credentials = TURNTestSetup.credentials()
        let old = stage.server.nonces.make(for: TURNTestSetup.client.description, at: stage.now)
        let others = stage.server.nonces.make(for: "198.51.100.77:1", at: stage.now + .seconds(601))
        stage.now = stage.now + .seconds(601)
        stage.connect(2)
        let key = TURNKey(.md5, username: credentials.username, realm: "pcast", password: credentials.password)
        for nonce in [old, others, "obMatJos2gAAAmade-up", "", old + "0"] {
            stage.send(
                stage.request(.allocate, key: key) { writer in
                    writer.add(TURNAttributeType.requestedTransport, number: 17 << 24)
                    writer.add(STUNAttributeType.username, text: credentials.username)
                    writer.add(STUNAttributeType.realm, text: "pcast")
                    writer.add(STUNAttributeType.nonce, text: nonce)
                }, 2)
            let received = stage.answer(2)
            let answer = try #require(received)
            #expect(answer.errorCode == 438 && answer.contains(STUNAttributeType.nonce))
        }
    }

    @Test("a client that received weaker algorithms than offered is rejected with 400")
    func downgradedAlgorithms() throws {
        var stage = TURNTestSetup()
        stage.connect(1)
        let credentials = TURNTestSetup.credentials()
        let nonce = stage.server.nonces.make(for: TURNTestSetup.client.description, at: stage.now)
        let key = TURNKey(.md5, username: credentials.username, realm: "pcast", password: credentials.password)
        for (offered, chosen) in [([0, 1, 0, 0], [0, 1, 0, 0]), ([0, 2, 0, 0, 0, 1, 0, 0], nil)]
            as [([UInt8], [UInt8]?)]
        {
            stage.send(
                stage.request(.allocate, key: key) { writer in
                    writer.add(STUNAttributeType.username, text: credentials.username)
                    writer.add(STUNAttributeType.realm, text: "pcast")
                    writer.add(STUNAttributeType.nonce, text: nonce)
                    writer.add(TURNAttributeType.passwordAlgorithms, offered)
                    if let chosen { writer.add(TURNAttributeType.passwordAlgorithm, chosen) }
                }, 1)
            #expect(stage.answer(1)?.errorCode == 400)
        }
    }

    @Test("an address has at most 128 connections without an allocation, of which the oldest is closed")
    func waitingConnections() {
        var stage = TURNTestSetup()
        let other = TransportAddress("198.51.100.10:40000")!
        stage.connect(1_000, from: other)
        for connection in 0..<128 as Range<UInt32> { stage.connect(connection) }
        #expect(stage.closed.isEmpty)
        // A connection with an allocation does not count.
        #expect(stage.allocate(0)?.messageClass == .success)
        stage.connect(128)
        #expect(stage.closed.isEmpty)
        for connection in 129..<140 as Range<UInt32> { stage.connect(connection) }
        #expect(stage.closed == Set(1...11 as ClosedRange<UInt32>))
        #expect(stage.allocate(139, TURNTestSetup.credentials("another"))?.messageClass == .success)
        #expect(stage.server.uses.count == 2)
        for connection in 0..<1_001 as Range<UInt32> { stage.server.disconnected(connection) }
        #expect(stage.server.uses.isEmpty && stage.server.allocations.isEmpty)
    }

    @Test("a full server closes the oldest connection without an allocation, and accepts none if all have one")
    func fullServer() {
        var stage = TURNTestSetup()
        func client(_ index: Int) -> TransportAddress {
            TransportAddress(ip: IPAddress(v4: 0x0A00_0000 + UInt32(index)), port: 1)
        }
        for index in 0..<TURNServer.maximumConnections {
            stage.connect(UInt32(index), from: client(index))
            stage.now = stage.now + .milliseconds(1)
        }
        #expect(stage.allocate(0)?.messageClass == .success)
        stage.connect(5_000, from: client(5_000))
        #expect(stage.closed == [1] && stage.server.allocations.count == TURNServer.maximumConnections)
    }

    @Test("the allocations of an address are limited, and a failed one does not count")
    func allocationsOfAddress() {
        var stage = TURNTestSetup(perAddress: 2)
        for connection in 1...4 as ClosedRange<UInt32> { stage.connect(connection) }
        stage.hasPorts = false
        #expect(stage.allocate(1)?.errorCode == 508)
        stage.hasPorts = true
        #expect(stage.allocate(1)?.messageClass == .success)
        #expect(stage.allocate(2, TURNTestSetup.credentials("another"))?.messageClass == .success)
        #expect(stage.allocate(3, TURNTestSetup.credentials("a third"))?.errorCode == 486)
        stage.connect(5, from: TransportAddress("198.51.100.10:40000")!)
        #expect(stage.allocate(5, TURNTestSetup.credentials("a third"))?.messageClass == .success)
        stage.server.disconnected(1)
        #expect(stage.allocate(3, TURNTestSetup.credentials("a fourth"))?.messageClass == .success)
    }

    @Test("each unavailable feature is refused with its own code")
    func refusals() {
        var stage = TURNTestSetup(perUser: 2, total: 3)
        for connection in 1...8 as ClosedRange<UInt32> { stage.connect(connection) }
        #expect(stage.allocate(1, transport: 6)?.errorCode == 442)
        #expect(stage.allocate(1, family: 2)?.errorCode == 440)
        #expect(stage.ask(.refresh, 1)?.errorCode == 437)
        #expect(stage.ask(.allocate, 1)?.errorCode == 400, "no transport")
        // EVEN-PORT (RFC 8656, section 18.6).
        #expect(stage.ask(.allocate, 1) { $0.add(0x0018, [0x80, 0, 0, 0]) }?.errorCode == 420)
        #expect(stage.allocate(1)?.messageClass == .success)
        #expect(stage.allocate(1)?.errorCode == 437, "an allocation exists")
        #expect(stage.ask(.refresh, 1, TURNTestSetup.credentials("another"))?.errorCode == 441)
        #expect(stage.bind(0x3FFF, to: TURNTestSetup.peer, 1)?.errorCode == 400)
        #expect(stage.bind(0x5000, to: TURNTestSetup.peer, 1)?.errorCode == 400)
        #expect(stage.bind(0x4000, to: TURNTestSetup.peer, 1)?.messageClass == .success)
        #expect(stage.bind(0x4000, to: TURNTestSetup.otherPeer, 1)?.errorCode == 400, "the channel of another peer")
        #expect(stage.bind(0x4001, to: TURNTestSetup.peer, 1)?.errorCode == 400, "the peer has another channel")
        #expect(stage.allocate(2)?.messageClass == .success)
        #expect(stage.allocate(3)?.errorCode == 486, "the third allocation of a user")
        #expect(stage.allocate(3, TURNTestSetup.credentials("another"))?.messageClass == .success)
        #expect(
            stage.allocate(4, TURNTestSetup.credentials("a third"))?.errorCode == 486,
            "the fourth allocation of the server"
        )
        #expect(stage.ask(.refresh, 1) { $0.add(TURNAttributeType.lifetime, number: 0) }?.messageClass == .success)
        #expect(stage.closed == [1], "the allocation was released")
        stage.hasPorts = false
        #expect(stage.allocate(4, TURNTestSetup.credentials("a third"))?.errorCode == 508)
        stage.hasPorts = true
        #expect(stage.allocate(4, TURNTestSetup.credentials("a third"))?.messageClass == .success)
    }

    @Test("a client without a valid request, or with an expired allocation, is disconnected")
    func disconnects() {
        var stage = TURNTestSetup()
        for connection in 1...5 as ClosedRange<UInt32> { stage.connect(connection) }
        stage.send(Array("GET / HTTP/1.1\r\n".utf8), 1)
        #expect(stage.closed == [1])
        for _ in 0..<TURNAllocation.maximumErrors { stage.send(stage.request(.allocate), 2) }
        #expect(stage.closed == [1, 2])
        stage.send([0, 3, 0xFF, 0xFC] + [UInt8](repeating: 0, count: 100), 5)
        #expect(stage.closed == [1, 2, 5], "longer than any valid message")
        _ = stage.allocate(3)
        #expect(stage.server.deadline == TURNTestSetup.start + .seconds(10))
        stage.now = stage.now + .seconds(10)
        stage.server.advance(to: stage.now)
        stage.drain()
        #expect(stage.closed == [1, 2, 4, 5])
        stage.now = TURNTestSetup.start + .seconds(600)
        stage.server.advance(to: stage.now)
        stage.drain()
        #expect(stage.closed == [1, 2, 3, 4, 5])
        #expect(stage.server.deadline == nil)
    }

    @Test("a stream that is cut in any way gives the same frames")
    func framing() {
        var stream: [UInt8] = []
        var expected: [TURNStreamReader.Frame] = []
        let stage = TURNTestSetup()
        for size in 0..<40 {
            let bytes = (0..<size).map { UInt8($0) }
            stream += TURNStreamReader.channelData(0x4000 + UInt16(size), bytes)
            expected.append(.channelData(channel: 0x4000 + UInt16(size), bytes))
            let message = stage.request(.binding)
            stream += message
            expected.append(.message(message))
        }
        for step in [1, 2, 3, 7, 64, 1000, stream.count] {
            var reader = TURNStreamReader()
            var frames: [TURNStreamReader.Frame] = []
            for start in stride(from: 0, to: stream.count, by: step) {
                reader.append(stream[start..<min(start + step, stream.count)])
                while case .frame(let frame) = reader.next() { frames.append(frame) }
            }
            #expect(frames == expected && reader.waiting == 0)
        }
    }
}

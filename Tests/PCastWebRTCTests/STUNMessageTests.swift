import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@Suite struct STUNMessageTests {
    private static let identifier = "2112a442 b7e7a701 bc34d686 fa87dfae"
    private static let password = Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)

    /// RFC 5769, section 2.1.
    static let request = hex(
        """
        00010058 \(identifier) 80220010 5354554e 20746573 7420636c 69656e74 00240004 6e0001ff
        80290008 932ff9b1 51263b36 00060009 6576746a 3a683676 59202020
        00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2 80280004 e57a3bcf
        """)

    /// RFC 5769, section 2.2.
    static let responseV4 = hex(
        """
        0101003c \(identifier) 8022000b 74657374 20766563 746f7220 00200008 0001a147 e112a643
        00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7 80280004 c07d4c96
        """)

    /// RFC 5769, section 2.3.
    static let responseV6 = hex(
        """
        01010048 \(identifier) 8022000b 74657374 20766563 746f7220
        00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9
        00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41 80280004 c8fb0b4c
        """)

    private static func hex(_ text: String) -> [UInt8] {
        let digits = text.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test("RFC 5769, 2.1: the sample request is parsed and verified")
    func sampleRequest() throws {
        let bytes = Self.request
        let message = try #require(parsedSTUN(bytes))
        #expect(message.messageClass == .request)
        #expect(message.transactionID == STUNTransactionID(high: 0xB7E7_A701, low: 0xBC34_D686_FA87_DFAE))
        #expect(message.priority == 0x6E00_01FF)
        #expect(message.role == .controlled(tieBreaker: 0x932F_F9B1_5126_3B36))
        #expect(message.usernameRange.map { String(decoding: bytes[$0], as: UTF8.self) } == "evtj:h6vY")
        #expect(message.recipient(bytes) == "evtj")
        #expect(message.fingerprint == .valid)
        #expect(message.verify(bytes, key: Self.password))
        #expect(!message.verify(bytes, key: Self.password.reversed()))
        #expect(!message.verify(bytes, key: []))
        #expect(message.unknownAttributes.isEmpty)
    }

    @Test("RFC 5769, 2.2 and 2.3: the sample responses have both types of address")
    func sampleResponses() throws {
        for (bytes, address) in [
            (Self.responseV4, "192.0.2.1:32853"), (Self.responseV6, "[2001:db8:1234:5678:11:2233:4455:6677]:32853"),
        ] {
            let message = try #require(parsedSTUN(bytes))
            #expect(message.messageClass == .success)
            #expect(message.mappedAddress == TransportAddress(address))
            #expect(message.fingerprint == .valid)
            #expect(message.verify(bytes, key: Self.password))
        }
    }

    @Test("written messages of every class and attribute are parsed to the same values")
    func roundTrip() throws {
        for (messageClass, address) in [
            (STUNMessage.MessageClass.request, "1.2.3.4:5"), (.indication, "[2001:db8::1]:65535"),
            (.success, "0.0.0.0:0"), (.error, "[::1]:1"),
        ] {
            let bytes = stunMessage(messageClass, 0x0102_0304_0506_0708, key: "secret") { writer in
                writer.addUsername(recipient: Array("to".utf8), sender: Array("from1".utf8))
                writer.addPriority(77)
                writer.addRole(.controlling(tieBreaker: .max))
                writer.addUseCandidate()
                writer.addMappedAddress(TransportAddress(address)!)
                writer.addErrorCode(487)
            }
            let message = try #require(parsedSTUN(bytes))
            #expect(message.messageClass == messageClass)
            #expect(message.transactionID == STUNTransactionID(high: 1, low: 0x0102_0304_0506_0708))
            #expect(message.usernameRange.map { String(decoding: bytes[$0], as: UTF8.self) } == "to:from1")
            #expect(message.priority == 77)
            #expect(message.usesCandidate)
            #expect(message.role == .controlling(tieBreaker: .max))
            #expect(message.mappedAddress == TransportAddress(address))
            #expect(message.errorCode == 487)
            #expect(message.size == bytes.count && message.fingerprint == .valid)
            #expect(message.verify(bytes, key: Array("secret".utf8)))
        }
    }

    @Test("a changed byte breaks the integrity, and the fingerprint too")
    func everyByteCounts() {
        for index in Self.request.indices {
            var bytes = Self.request
            bytes[index] ^= 0x01
            guard let message = parsedSTUN(bytes) else { continue }
            #expect(message.fingerprint != .valid)
            if index < 76 { #expect(!message.verify(bytes, key: Self.password)) }
        }
    }

    @Test("unknown attributes from 0x8000 on are ignored, and up to eight of those below are listed")
    func ignoresUnknownAttributes() throws {
        let request = Self.insert([0x00, 0x33, 0, 1, 9, 0, 0, 0, 0xC0, 0x57, 0, 4, 0, 1, 0, 2, 0x7F, 0xFF, 0, 0])
        let message = try #require(parsedSTUN(request))
        #expect(message.unknownAttributes.count == 2)
        #expect(message.unknownAttributes[0] == 0x0033)
        #expect(message.unknownAttributes[1] == 0x7FFF)
        let many = Self.insert((0..<20).flatMap { [0x00, 0x40 + UInt8($0), 0, 0] })
        #expect(parsedSTUN(many)?.unknownAttributes.count == STUNUnknownAttributes.capacity)
    }

    /// Returns a bare request with the test's own attributes.
    private static func insert(_ attributes: [UInt8]) -> [UInt8] {
        var bytes = Array(request[..<20])
        bytes[3] = UInt8(attributes.count)
        return bytes + attributes
    }

    @Test("after MESSAGE-INTEGRITY only FINGERPRINT counts, and FINGERPRINT is last")
    func attributesAfterIntegrity() throws {
        // There is an unprotected USE-CANDIDATE and an unknown attribute after MESSAGE-INTEGRITY.
        var late = Array(Self.request[..<100]) + [0x00, 0x25, 0, 0, 0x00, 0x33, 0, 0]
        late[3] = 88
        let message = try #require(parsedSTUN(late))
        #expect(!message.usesCandidate && message.unknownAttributes.isEmpty)
        #expect(message.verify(late, key: Self.password))
        var beyond = Self.request + [0x00, 0x25, 0, 0]
        beyond[3] += 4
        #expect(parsedSTUN(beyond) == nil)
    }

    @Test("a message that is truncated, or has another method, cookie or length, is invalid")
    func malformed() {
        for count in 0..<Self.request.count { #expect(parsedSTUN(Array(Self.request[..<count])) == nil) }
        for (index, value) in [(0, 0x40), (1, 0x03), (3, 0x54), (4, 0x20), (22, 0xFF), (79, 0x13)] as [(Int, UInt8)] {
            var bytes = Self.request
            bytes[index] = value
            #expect(parsedSTUN(bytes) == nil, "byte \(index)")
        }
        let large = [UInt8](repeating: 0, count: 65536)
        #expect(parsedSTUN(large) == nil)
    }

    @Test("random changes never trap the parser or the agents")
    func mutations() {
        var generator = SeededGenerator(seed: 5)
        var network = ICENetwork()
        let path = NetworkPath(local: ICENetwork.serverAddress, remote: ICENetwork.clientAddress)
        for _ in 0..<20_000 {
            var bytes = [Self.request, Self.responseV4, Self.responseV6][Int(generator.next() % 3)]
            for _ in 0...generator.next() % 6 {
                bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            }
            guard parsedSTUN(bytes) != nil else { continue }
            let atServer = network.server.handleMessage(bytes, from: path, at: network.now).outcome
            let atClient = network.client.handleMessage(bytes, from: path, at: network.now).outcome
            #expect(!atServer.isAuthenticated && !atClient.isAuthenticated)
        }
    }
}

import PCastRTMP
import Testing

@Suite struct HandshakeTests {
    private let client = RTMPTestClient.handshake

    private func run(_ pieces: [[UInt8]], seed: UInt64 = 1) throws(RTMPError) -> (output: [UInt8], isComplete: Bool) {
        var handshake = RTMPHandshake(seed: seed)
        var output: [UInt8] = []
        for piece in pieces {
            var position = 0
            try handshake.read(piece.span, from: &position, into: &output)
            #expect(position == piece.count)
        }
        return (output, handshake.isComplete)
    }

    @Test("the server's second packet is an echo, so that clients with a digest accept it, too")
    func echo() throws {
        let (output, isComplete) = try run([client])
        #expect(isComplete)
        #expect(output.count == RTMPTestClient.serverHandshakeSize)
        #expect(output[0] == 3)
        #expect(Array(output[1...8]) == [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(output[1_537...] == client[1...1_536])
        #expect(try run([client], seed: 2).output[9..<1_537] != output[9..<1_537])
    }

    @Test("the handshake is the same wherever the bytes are split")
    func everySplit() throws {
        let whole = try run([client]).output
        for split in client.indices {
            let (output, isComplete) = try run([Array(client[..<split]), Array(client[split...])])
            #expect(output == whole && isComplete)
        }
    }

    @Test("the server answers after the client's first packet, and not before")
    func order() throws {
        #expect(try run([Array(client.prefix(1_536))]).output.isEmpty)
        let (output, isComplete) = try run([Array(client.prefix(1_537))])
        #expect(output.count == RTMPTestClient.serverHandshakeSize && !isComplete)
    }

    @Test("bytes after the handshake are not read")
    func rest() throws {
        var handshake = RTMPHandshake(seed: 1)
        var output: [UInt8] = []
        var position = 0
        try handshake.read((client + [1, 2, 3]).span, from: &position, into: &output)
        #expect(position == client.count)
    }

    @Test("another protocol is an error at its first byte", arguments: [0x16, 0x47, 6, 0] as [UInt8])
    func otherProtocol(byte: UInt8) {
        #expect(throws: RTMPError.notRTMP(firstByte: byte)) { try run([[byte]]) }
        #expect(RTMPError.notRTMP(firstByte: 0x16).description.contains("TLS"))
    }
}

import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@Suite struct RTPHeaderTests {
    /// A packet with two contributing sources, a one-byte extension block (id 3 with two bytes, padding), three bytes
    /// of payload and four of padding.
    static let packet: [UInt8] = [
        0xB2, 0xE0, 0x12, 0x34, 0x01, 0x02, 0x03, 0x04, 0xDE, 0xAD, 0xBE, 0xEF, 0, 0, 0, 1, 0, 0, 0, 2,
        0xBE, 0xDE, 0x00, 0x01, 0x31, 0xAA, 0xBB, 0x00, 0x77, 0x78, 0x79, 0, 0, 0, 4,
    ]

    @Test("the parts of a packet with sources, extensions and padding are found")
    func parse() throws {
        let header = try #require(RTPHeader.parse(Self.packet))
        #expect(header.marker)
        #expect(header.payloadType == 96)
        #expect(header.sequenceNumber == 0x1234)
        #expect(header.timestamp == 0x0102_0304)
        #expect(header.ssrc == 0xDEAD_BEEF)
        #expect(header.headerSize == 28)
        #expect(header.paddingSize == 4)
        #expect(header.payloadRange(packetSize: Self.packet.count) == 28..<31)
        #expect(header.extensions.form == .oneByte)
        #expect(header.extensions.find(3, in: Self.packet) == 25..<27)
        #expect(header.extensions.find(4, in: Self.packet) == nil)
        #expect(!header.hasMalformedExtensions)
    }

    @Test("a packet of padding alone has an empty payload")
    func paddingOnly() throws {
        let packet: [UInt8] = [0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]
        let header = try #require(RTPHeader.parse(packet))
        #expect(header.ssrc == 0)
        #expect(header.payloadRange(packetSize: 16).isEmpty)
    }

    @Test("too much padding, or padding of no size, is invalid; encrypted padding is not checked")
    func badPadding() {
        for count: UInt8 in [0, 5, 255] {
            let packet: [UInt8] = [0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, count]
            #expect(RTPHeader.parse(packet) == nil)
            #expect(RTPHeader.parseProtected(packet)?.paddingSize == 0)
        }
    }

    @Test("a packet cut at any length is rejected or stays in bounds")
    func truncation() {
        for size in 0..<Self.packet.count {
            let cut = Array(Self.packet[..<size])
            let header = RTPHeader.parseProtected(cut.span)
            #expect((header == nil) == (size < 20))
            #expect(header?.hasMalformedExtensions == (size < 20 ? nil : size < 28))
            if let header { #expect(header.payloadRange(packetSize: size).upperBound <= size) }
        }
    }

    @Test("an element beyond the block's end makes a packet without extensions whose payload is still found")
    func malformedElement() throws {
        var packet = Self.packet
        packet[24] = 0x3F
        let header = try #require(RTPHeader.parse(packet))
        #expect(header.hasMalformedExtensions)
        #expect(header.extensions.length == 0)
        #expect(header.payloadRange(packetSize: packet.count) == 28..<31)
    }

    @Test("a block beyond the packet's end leaves no payload")
    func malformedBlock() throws {
        var packet = Self.packet
        packet[22] = 0xFF
        let header = try #require(RTPHeader.parseProtected(packet))
        #expect(header.hasMalformedExtensions)
        #expect(header.payloadRange(packetSize: packet.count).isEmpty)
    }

    @Test("an extension block of length 0 is well formed")
    func emptyBlock() throws {
        let packet: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xBE, 0xDE, 0, 0, 9]
        let header = try #require(RTPHeader.parse(packet))
        #expect(!header.hasMalformedExtensions)
        #expect(header.payloadRange(packetSize: 17) == 16..<17)
    }

    @Test("random bytes never trap")
    func randomBytes() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            var packet = Self.packet
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                packet[Int.random(in: 0..<packet.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            packet.removeLast(Int.random(in: 0...packet.count, using: &generator))
            guard let header = RTPHeader.parse(packet.span) else { continue }
            #expect(header.payloadRange(packetSize: packet.count).upperBound <= packet.count)
            header.extensions.forEach(in: packet.span) { element in
                #expect(element.range.upperBound <= packet.count)
            }
        }
    }

    @Test(
        "the first bytes determine the type of a datagram",
        arguments: [
            ([0, 1], DatagramKind.stun), ([3, 1], .stun), ([4, 1], .unknown), ([19, 1], .unknown), ([20, 254], .dtls),
            ([63, 254], .dtls), ([64, 0], .unknown), ([127, 0], .unknown), ([128, 96], .rtp), ([128, 191], .rtp),
            ([128, 192], .rtcp), ([191, 223], .rtcp), ([144, 224], .rtp), ([192, 0], .unknown), ([128], .unknown),
            ([], .unknown),
        ] as [([UInt8], DatagramKind)])
    func datagramKinds(bytes: [UInt8], kind: DatagramKind) {
        #expect(DatagramKind(bytes) == kind)
    }

    @Test("a written header is parsed to the same values, with padding")
    func writes() throws {
        let header = RTPHeader(
            marker: true, payloadType: 111, sequenceNumber: 65_535, timestamp: .max, ssrc: 1, paddingSize: 3)
        var bytes = [UInt8](repeating: 0xEE, count: 16)
        let layout = bytes.withMutableByteView { buffer in
            let layout = header.write(into: buffer)
            header.writePadding(into: buffer, at: 13)
            return layout
        }
        #expect(layout.size == 12)
        #expect(bytes == [0xA0, 0xEF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1, 0xEE, 0, 0, 3])
        #expect(RTPHeader.parse(bytes) == header)
    }
}

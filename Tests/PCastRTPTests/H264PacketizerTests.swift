import PCastCore
import PCastRTP
import Testing

@Suite struct H264PacketizerTests {
    private func packetize(
        _ accessUnit: [UInt8], limit: Int = 1100, mode: H264Packetizer.Mode = .nonInterleaved
    ) -> (packets: [(bytes: [UInt8], isLast: Bool)], dropped: Int) {
        accessUnit.withByteView { source in
            var packetizer = H264Packetizer(accessUnit: source, maximumPayloadSize: limit, mode: mode)
            let packets = H264Fixtures.collect(limit) { packetizer.next(into: $0) }
            return (packets, packetizer.droppedUnits)
        }
    }

    @Test("parameter sets and a small IDR picture share one STAP-A")
    func smallKeyFrameSharesAggregate() {
        let unit: [UInt8] = [0, 0, 0, 1, 0x67, 0x42, 0xE0, 0x1F, 0, 0, 1, 0x68, 0xCE, 0, 0, 1, 0x25, 0x88, 0x84]
        let (packets, _) = packetize(unit)
        #expect(packets.count == 1)
        #expect(packets[0].isLast)
        #expect(
            packets[0].bytes == [
                0x78, 0, 4, 0x67, 0x42, 0xE0, 0x1F, 0, 2, 0x68, 0xCE, 0, 3, 0x25, 0x88, 0x84,
            ])
    }

    @Test("parameter sets are sent in a STAP-A before the fragments of a large IDR picture")
    func largeKeyFrameFollowsAggregate() {
        var random = PayloadRandom(seed: 1)
        let (packets, _) = packetize(H264Fixtures.accessUnit(key: true, size: 2201, using: &random))
        #expect(packets.map { $0.bytes[0] } == [0x78, 0x7C, 0x7C, 0x7C])
        #expect(packets.dropFirst().map { $0.bytes[1] } == [0x85, 0x05, 0x45])
        #expect(packets.map(\.isLast) == [false, false, false, true])
        // 2200 bytes in three packets: 734, 734, 732, and two of header.
        #expect(packets.dropFirst().map(\.bytes.count) == [736, 736, 734])
    }

    @Test("fragments have equal sizes")
    func equalFragments() {
        var random = PayloadRandom(seed: 2)
        for size in stride(from: 1101, to: 20_000, by: 977) {
            let (packets, _) = packetize(H264Fixtures.accessUnit(key: false, size: size, using: &random))
            #expect(Set(packets.dropLast().map(\.bytes.count)).count == 1)
            #expect(packets.last!.bytes.count <= packets[0].bytes.count)
            #expect(packets[0].bytes.count - packets.last!.bytes.count < packets.count)
            #expect(packets.count == (size - 1 + 1097) / 1098)
        }
    }

    @Test("a unit of exactly the limit is sent in one packet")
    func unitOfLimitSize() {
        var random = PayloadRandom(seed: 3)
        let whole = H264Fixtures.slice(idr: false, size: 1100, using: &random)
        #expect(packetize(H264Fixtures.annexB([whole])).packets.map(\.bytes) == [whole])
        let larger = H264Fixtures.slice(idr: false, size: 1101, using: &random)
        #expect(packetize(H264Fixtures.annexB([larger])).packets.map(\.bytes.count) == [552, 552])
    }

    @Test("no payload is larger than the limit")
    func payloadSizeLimit() {
        var random = PayloadRandom(seed: 4)
        for limit in [16, 100, 1100, 1180] {
            let units = (0..<20).map { _ in
                H264Fixtures.slice(idr: false, size: Int.random(in: 2...3000, using: &random), using: &random)
            }
            let (packets, _) = packetize(H264Fixtures.annexB(units), limit: limit)
            #expect(packets.allSatisfy { $0.bytes.count <= limit })
            #expect(packets.map(\.isLast) == Array(repeating: false, count: packets.count - 1) + [true])
            #expect(
                H264Fixtures.depacketize(.h264, packets.map(\.bytes)).bytes == H264Fixtures.annexB(units))
        }
    }

    @Test("access unit delimiters and filler data are omitted")
    func omitsDelimitersAndFiller() {
        let unit = H264Fixtures.annexB([[0x09, 0xF0], [0x41, 0x9A, 1], [0x0C, 0xFF, 0x80]])
        let (packets, dropped) = packetize(unit)
        #expect(packets.map(\.bytes) == [[0x41, 0x9A, 1]])
        #expect(packets[0].isLast)
        #expect(dropped == 0)
        #expect(packetize(H264Fixtures.annexB([[0x09, 0xF0]])).packets.isEmpty)
    }

    @Test("units of types that RTP reserves are dropped")
    func dropsReservedUnitTypes() {
        let (packets, dropped) = packetize(H264Fixtures.annexB([[0x7C, 0x85, 1], [0x41, 0x9A], [0x18], [0x00, 2]]))
        #expect(packets.map(\.bytes) == [[0x41, 0x9A]])
        #expect(packets[0].isLast)
        #expect(dropped == 3)
    }

    @Test("packetization mode 0 sends single units and counts units that are too large")
    func singleUnitMode() {
        var random = PayloadRandom(seed: 5)
        let large = H264Fixtures.slice(idr: false, size: 1101, using: &random)
        let (packets, dropped) = packetize(
            H264Fixtures.annexB([[0x67, 1, 2, 3], [0x68, 1], [0x65, 0x88], large]), mode: .singleUnit)
        #expect(packets.map(\.bytes) == [[0x67, 1, 2, 3], [0x68, 1], [0x65, 0x88]])
        #expect(packets.map(\.isLast) == [false, false, true])
        #expect(dropped == 1)
    }

    @Test("bytes without a start code make no packet")
    func noStartCode() {
        #expect(packetize([]).packets.isEmpty)
        #expect(packetize([0x65, 0x88]).packets.isEmpty)
        #expect(packetize([0, 0, 1]).packets.isEmpty)
        #expect(packetize([0, 0, 1, 0, 0, 0, 1]).packets.isEmpty)
    }

    @Test("start codes are found at every position")
    func startCodePositions() {
        var random = PayloadRandom(seed: 6)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                UInt8.random(in: 0...3, using: &random)
            }
            #expect(units(of: bytes) == unitsByDefinition(of: bytes))
        }
    }

    private func units(of bytes: [UInt8]) -> [Range<Int>] {
        bytes.withByteView { source in
            var reader = AnnexBReader(source)
            var units: [Range<Int>] = []
            while let unit = reader.next() { units.append(unit) }
            return units
        }
    }

    private func unitsByDefinition(of bytes: [UInt8]) -> [Range<Int>] {
        var codes: [Int] = []
        var index = 0
        while index + 2 < bytes.count {
            let isCode = bytes[index] == 0 && bytes[index + 1] == 0 && bytes[index + 2] == 1
            if isCode { codes.append(index) }
            index += isCode ? 3 : 1
        }
        return codes.indices.compactMap { place in
            let start = codes[place] + 3
            var end = place + 1 < codes.count ? codes[place + 1] : bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            return end > start ? start..<end : nil
        }
    }
}

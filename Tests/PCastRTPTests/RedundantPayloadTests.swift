import PCastCore
import Testing

@testable import PCastRTP

@Suite("Audio packets with redundant blocks (RFC 2198)")
struct RedundantPayloadTests {
    /// Returns a packet of Opus, 20 ms of CELT in one frame.
    private static func opus(_ fill: UInt8, size: Int = 8) -> [UInt8] {
        [0xF8] + Array(repeating: fill, count: size - 1)
    }

    /// Returns a payload of blocks (offset, data), oldest first, and the packet's own data.
    static func payload(_ blocks: [(UInt32, [UInt8])], _ primary: [UInt8], payloadType: UInt8 = 111) -> [UInt8] {
        var bytes: [UInt8] = []
        for (offset, data) in blocks {
            let fields = offset << 10 | UInt32(data.count)
            bytes += [0x80 | payloadType, UInt8(fields >> 16 & 0xFF), UInt8(fields >> 8 & 0xFF), UInt8(fields & 0xFF)]
        }
        return bytes + [payloadType] + blocks.flatMap(\.1) + primary
    }

    private func distances(_ bytes: [UInt8], after hole: RedundantSequence.Gap?) throws -> [Int64] {
        let read = RedundantPayload(bytes.span, payload: bytes.indices)
        let payload = try #require(read)
        var sequence = RedundantSequence(payload, after: hole, in: bytes.span)
        var distances: [Int64] = []
        while let (_, distance) = sequence.next(in: bytes.span) { distances.append(distance) }
        return distances
    }

    @Test("the primary data and the redundant blocks are found, the newest first")
    func reads() throws {
        let bytes = [9, 9] + Self.payload([(1920, Self.opus(1)), (960, Self.opus(2, size: 5))], Self.opus(3)) + [7]
        let read = RedundantPayload(bytes.span, payload: 2..<bytes.count - 1)
        let payload = try #require(read)
        #expect(payload.redundantCount == 2)
        #expect(Array(bytes[payload.primary.range]) == Self.opus(3))
        let newest = payload.redundant(0, in: bytes.span)
        let oldest = payload.redundant(1, in: bytes.span)
        #expect(newest.timestampOffset == 960 && Array(bytes[newest.range]) == Self.opus(2, size: 5))
        #expect(oldest.timestampOffset == 1920 && Array(bytes[oldest.range]) == Self.opus(1))
        #expect(newest.payloadType == 111)
    }

    @Test("a packet without redundancy has only its primary data, and an empty one is invalid")
    func plain() throws {
        let bytes = Self.payload([], Self.opus(4))
        let read = RedundantPayload(bytes.span, payload: bytes.indices)
        let payload = try #require(read)
        #expect(payload.redundantCount == 0 && payload.primary.range == 1..<bytes.count)
        let nothing = [UInt8]()
        let empty = RedundantPayload(nothing.span, payload: 0..<0)
        #expect(empty == nil)
    }

    @Test("lengths beyond the end, and headers without end, are rejected")
    func malformed() {
        let whole = Self.payload([(1920, Self.opus(1)), (960, Self.opus(2))], [])
        for size in 0..<whole.count {
            let cut = Array(whole.prefix(size))
            let read = RedundantPayload(cut.span, payload: cut.indices)
            #expect(read == nil, "\(size) bytes")
        }
        let endless = [UInt8](repeating: 0x80, count: 400)
        let readEndless = RedundantPayload(endless.span, payload: endless.indices)
        let readBeyond = RedundantPayload(whole.span, payload: 0..<whole.count + 1)
        #expect(readEndless == nil && readBeyond == nil)
    }

    @Test("contiguous blocks are the packets just before")
    func contiguous() throws {
        let bytes = Self.payload([(1920, Self.opus(1)), (960, Self.opus(2))], Self.opus(3))
        #expect(try distances(bytes, after: nil) == [1, 2])
        #expect(try distances(bytes, after: .init(packetCount: 5, ticks: 6 * 960)) == [1, 2])
    }

    @Test("after a pause of audio a block fills a gap only if the number of packets matches")
    func overSilence() throws {
        // With discontinuous transmission, 400 ms passed between two packets with consecutive sequence numbers.
        let bytes = Self.payload([(16_000, Self.opus(2))], Self.opus(3))
        #expect(try distances(bytes, after: .init(packetCount: 1, ticks: 17_000)) == [1])
        #expect(try distances(bytes, after: .init(packetCount: 2, ticks: 17_000)) == [])
        #expect(try distances(bytes, after: nil) == [])
    }

    @Test("a block of a time that no previous packet can have is ignored")
    func senseless() throws {
        #expect(try distances(Self.payload([(0, Self.opus(2))], Self.opus(3)), after: nil) == [])
        let twice = Self.payload([(960, Self.opus(1)), (960, Self.opus(2))], Self.opus(3))
        #expect(try distances(twice, after: .init(packetCount: 2, ticks: 5000)) == [1])
    }
}

@Suite struct OpusPayloadTests {
    private func toc(_ packet: [UInt8]) -> OpusTOC? { OpusTOC(packet.span) }

    @Test("the duration of each configuration is that of RFC 6716, table 2")
    func packetDurations() {
        let microseconds: [Int64] = [
            10_000, 20_000, 40_000, 60_000, 10_000, 20_000, 40_000, 60_000, 10_000, 20_000, 40_000, 60_000,
            10_000, 20_000, 10_000, 20_000,
            2_500, 5_000, 10_000, 20_000, 2_500, 5_000, 10_000, 20_000,
            2_500, 5_000, 10_000, 20_000, 2_500, 5_000, 10_000, 20_000,
        ]
        for (configuration, duration) in microseconds.enumerated() {
            let first = UInt8(configuration) << 3
            #expect(toc([first, 1, 2])?.duration == .microseconds(duration))
            #expect(toc([first | 1, 1, 2])?.duration == .microseconds(2 * duration))
            #expect(toc([first | 2, 1, 2])?.tickCount == 2 * duration * 48 / 1000)
        }
    }

    @Test("the frames of a packet with code 3 are counted")
    func packetOfManyFrames() {
        #expect(toc([0xFB, 3, 0, 0])?.duration == .milliseconds(60))
        #expect(toc([0xFB, 6, 0, 0])?.duration == .milliseconds(120))
        #expect(toc([0xFB, 7, 0, 0]) == nil)
        #expect(toc([0xFB, 0, 0]) == nil)
        #expect(toc([0xFB]) == nil)
        #expect(toc([]) == nil)
        #expect(toc([0x83, 0x80 | 48, 1])?.frameCount == 48)
    }

    @Test("tiny packets are silence, and the TOC states the channels")
    func silenceAndChannels() {
        #expect(toc([0xFC])?.isDiscontinuous == true)
        #expect(toc([0xFC, 1])?.isDiscontinuous == true)
        #expect(toc([0xFC, 1, 2])?.isDiscontinuous == false)
        #expect(toc([0xFC])?.isStereo == true)
        #expect(toc([0xF8])?.isStereo == false)
    }

    @Test("one Opus packet is one payload")
    func onePacketPerPayload() {
        let packets = H264Fixtures.payloads(of: .opus, [0xFC, 1, 2, 3])
        #expect(packets.map(\.bytes) == [[0xFC, 1, 2, 3]])
        #expect(packets[0].isLast)
        #expect(H264Fixtures.payloads(of: .opus, []).isEmpty)
        let result = H264Fixtures.depacketize(.opus, [[0xFC, 1, 2, 3]])
        #expect(result.bytes == [0xFC, 1, 2, 3])
        #expect(result.frame?.isKeyFrame == true)
        #expect(H264Fixtures.depacketize(.opus, [[0xFB, 0]]).frame == nil)
    }
}

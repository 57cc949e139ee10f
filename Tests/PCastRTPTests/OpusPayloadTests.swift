import PCastCore
import PCastRTP
import Testing

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

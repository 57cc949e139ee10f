import PCastCore
import PCastRTP
import Testing

@Suite struct VP8PayloadTests {
    private func parse(_ payload: [UInt8]) -> VP8PayloadDescriptor? { VP8PayloadDescriptor.parse(payload.span) }

    private func rewritten(
        _ payload: [UInt8], pictureID: VPXPictureID?, tl0: UInt8? = nil
    ) -> [UInt8] {
        let descriptor = VP8PayloadDescriptor.parse(payload.span)!
        return withTemporaryBytes(VP8PayloadDescriptor.maximumSize) { buffer in
            let size = descriptor.rewrite(pictureID: pictureID, tl0PictureIndex: tl0, into: buffer)
            return Array(buffer[0..<size])
        }
    }

    @Test("every field of the descriptor is read")
    func descriptorFields() throws {
        let payload: [UInt8] = [0xB0, 0xF0, 0x92, 0x34, 0x56, 0xA7, 0x10]
        let descriptor = try #require(parse(payload))
        #expect(descriptor.isNonReference)
        #expect(descriptor.startsPartition)
        #expect(descriptor.partitionIndex == 0)
        #expect(descriptor.pictureID == VPXPictureID(0x1234, width: .long))
        #expect(descriptor.tl0PictureIndex == 0x56)
        #expect(descriptor.temporalID == 2)
        #expect(descriptor.isLayerSync)
        #expect(descriptor.keyIndex == 7)
        #expect(descriptor.size == 6)
        #expect(descriptor.startsKeyFrame)
        #expect(rewritten(payload, pictureID: nil) == Array(payload.prefix(6)))
    }

    @Test("a descriptor of one byte has no extensions")
    func descriptorWithoutExtensions() throws {
        let descriptor = try #require(parse([0x10, 0x11]))
        #expect(descriptor.size == 1)
        #expect(descriptor.pictureID == nil)
        #expect(descriptor.startsFrame)
        #expect(!descriptor.startsKeyFrame)
        #expect(rewritten([0x10, 0x11], pictureID: VPXPictureID(5, width: .long), tl0: 3) == [0x10])
    }

    @Test("a truncated descriptor of any length is rejected")
    func truncatedDescriptor() {
        let payload: [UInt8] = [0x90, 0xF0, 0x92, 0x34, 0x56, 0xA7]
        for length in 0..<6 { #expect(VP8PayloadDescriptor.parse(Array(payload.prefix(length)).span) == nil) }
        #expect(VP8PayloadDescriptor.parse(payload.span)?.size == 6)
    }

    @Test("picture IDs wrap at 7 or 15 bits, as sent")
    func pictureIDWrap() {
        #expect(VPXPictureID(127, width: .short).advanced(by: 1) == VPXPictureID(0, width: .short))
        #expect(VPXPictureID(127, width: .long).advanced(by: 1).value == 128)
        #expect(VPXPictureID(0x7FFF, width: .long).advanced(by: 2).value == 1)
        #expect(VPXPictureID(1, width: .short).distance(from: VPXPictureID(126, width: .short)) == 3)
        #expect(VPXPictureID(0x7FFE, width: .long).distance(from: VPXPictureID(1, width: .long)) == -3)
    }

    @Test("a rewritten picture ID may change the descriptor's length")
    func rewrittenPictureIDLength() {
        let short: [UInt8] = [0x90, 0x80, 0x7F, 0x10, 1, 2]
        #expect(rewritten(short, pictureID: VPXPictureID(0x0123, width: .long)) == [0x90, 0x80, 0x81, 0x23])
        #expect(rewritten(short, pictureID: VPXPictureID(0x12, width: .short)) == [0x90, 0x80, 0x12])
        let long: [UInt8] = [0x90, 0xE0, 0x80, 0x80, 9, 0x40, 0x11]
        #expect(
            rewritten(long, pictureID: VPXPictureID(5, width: .short), tl0: 77) == [0x90, 0xE0, 0x05, 77, 0x40])
        #expect(
            rewritten(long, pictureID: VPXPictureID(0x7FFF, width: .long), tl0: 255)
                == [0x90, 0xE0, 0xFF, 0xFF, 255, 0x40])
    }

    @Test("rewriting for one receiver does not change the shared payload")
    func sharedPayloadIsUnchanged() {
        let shared: [UInt8] = [0x90, 0x80, 0x05, 0x10, 1, 2, 3]
        let before = shared
        let first = rewritten(shared, pictureID: VPXPictureID(1000, width: .long))
        let second = rewritten(shared, pictureID: VPXPictureID(6, width: .short))
        #expect(shared == before)
        let size = VP8PayloadDescriptor.parse(shared.span)!.size
        for (descriptor, id) in [(first, UInt16(1000)), (second, 6)] {
            let packet = descriptor + shared[size...]
            #expect(VP8PayloadDescriptor.parse(packet.span)?.pictureID?.value == id)
            #expect(H264Fixtures.depacketize(.vp8, [packet]).bytes == [0x10, 1, 2, 3])
        }
    }

    @Test("the packets of a frame have equal sizes, and the last one has the marker")
    func packetSizesAndMarker() {
        var random = PayloadRandom(seed: 10)
        let frame = H264Fixtures.vp8Frame(key: true, size: 2500, using: &random)
        let packets = H264Fixtures.payloads(of: .vp8, frame, pictureID: 0x7ABC)
        #expect(packets.map(\.bytes.count) == [838, 838, 836])
        #expect(
            packets.map { Array($0.bytes[0..<4]) } == [
                [0x90, 0x80, 0xFA, 0xBC], [0x80, 0x80, 0xFA, 0xBC], [0x80, 0x80, 0xFA, 0xBC],
            ])
        #expect(packets.map(\.isLast) == [false, false, true])
        let result = H264Fixtures.depacketize(.vp8, packets.map(\.bytes))
        #expect(result.bytes == frame)
        #expect(result.frame == DepacketizedFrame(isKeyFrame: true, hasSlice: true))
    }

    @Test("a descriptor without a picture ID has one byte")
    func descriptorWithoutPictureID() {
        let packets = H264Fixtures.payloads(of: .vp8, [0x11, 2, 3], pictureID: nil)
        #expect(packets.map(\.bytes) == [[0x10, 0x11, 2, 3]])
        #expect(H264Fixtures.payloads(of: .vp8, [], pictureID: nil).isEmpty)
    }

    @Test("a frame without its first packet is not decodable")
    func frameWithoutStart() {
        #expect(H264Fixtures.depacketize(.vp8, [[0x00, 1, 2]]).frame == nil)
        #expect(H264Fixtures.depacketize(.vp8, [[0x10, 1], [0x10, 2]]).frame == nil)
        #expect(H264Fixtures.depacketize(.vp8, [[0x10]]).frame == nil)
        #expect(H264Fixtures.depacketize(.vp8, [[0x10, 1], [0x11, 2]]).frame != nil)
    }

    @Test("no mutated payload traps")
    func mutations() {
        var random = PayloadRandom(seed: 11)
        for _ in 0..<5000 {
            let payload = (0..<Int.random(in: 0...14, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            guard let descriptor = VP8PayloadDescriptor.parse(payload.span) else { continue }
            #expect(descriptor.size <= payload.count)
            _ = KeyFrameDetector.video(codec: .vp8, payload: payload.span)
            let again = rewritten(payload, pictureID: nil)
            #expect(VP8PayloadDescriptor.parse(again.span)?.pictureID == descriptor.pictureID)
        }
    }
}

import PCastCore
import Testing

@testable import PCastRTP

/// The payload formats of VP9 and AV1.
@Suite struct VideoPayloadTests {
    private typealias Fixtures = VideoPayloadFixtures

    /// Returns the kind of a payload and the size of the video in it.
    private static func inspect(_ codec: Codec, _ payload: [UInt8]) -> (isKeyFrame: Bool, dimensions: Dimensions?) {
        (
            KeyFrameDetector.startsKeyFrame(codec: codec, payload: payload.span),
            KeyFrameDetector.video(codec: codec, payload: payload.span)?.dimensions
        )
    }

    private static func parse(_ payload: [UInt8]) -> VP9PayloadDescriptor? { VP9PayloadDescriptor.parse(payload.span) }
    private static func frameHeader(_ frame: [UInt8]) -> VP9FrameHeader? { VP9FrameHeader(keyFrame: frame.span) }
    private static func numbers(_ payload: [UInt8]) -> VPXPictureNumbers? { VPXPictureNumbers(.vp9, payload.span) }
    private static func sequenceHeader(_ bytes: [UInt8]) -> AV1SequenceHeader? { AV1SequenceHeader(bytes.span) }

    // MARK: VP9

    @Test("every field of a VP9 descriptor in non-flexible mode is read")
    func descriptor() throws {
        // I, P, L, B, E, Z; a picture ID of 15 bits; TID 2, U, SID 1, D; TL0PICIDX.
        let payload: [UInt8] = [0xED, 0x92, 0x34, 0x53, 0x77, 0x86]
        let descriptor = try #require(Self.parse(payload))
        #expect(descriptor.isInterPredicted && !descriptor.isFlexible)
        #expect(descriptor.startsFrame && descriptor.endsFrame && descriptor.isNotReferencedAbove)
        #expect(descriptor.pictureID == VPXPictureID(0x1234, width: .long))
        #expect(descriptor.temporalID == 2 && descriptor.isSwitchingPoint)
        #expect(descriptor.spatialID == 1 && descriptor.dependsOnLowerLayer)
        #expect(descriptor.tl0PictureIndex == 0x77)
        #expect(descriptor.size == 5 && descriptor.structure == nil)
        for length in 0..<5 { #expect(Self.parse(Array(payload.prefix(length))) == nil) }
    }

    @Test("reference indices of flexible mode are skipped, and more than three are invalid")
    func references() throws {
        let descriptor = try #require(Self.parse([0xF8, 0x05, 0x20, 0x03, 0x05, 0x06, 0x86]))
        #expect(descriptor.isFlexible && descriptor.pictureID == VPXPictureID(5, width: .short))
        #expect(descriptor.size == 6 && descriptor.tl0PictureIndex == nil && descriptor.temporalID == 1)
        #expect(Self.parse([0xD8, 0x05, 0x03, 0x05, 0x07, 0x02]) == nil)
    }

    @Test("a scalability structure contains the size of the highest layer, and is skipped as a whole")
    func structure() throws {
        // N_S 2 for three layers, Y, G; 320x180, 640x360, 1280x720; a group of two frames with 1 and 2 references.
        let structure: [UInt8] =
            [0x58, 0x01, 0x40, 0x00, 0xB4, 0x02, 0x80, 0x01, 0x68, 0x05, 0x00, 0x02, 0xD0, 2, 0x04, 1, 0x28, 1, 2]
        let payload = [0x0A] + structure + Fixtures.vpxKeyFrame
        let descriptor = try #require(Self.parse(payload))
        #expect(descriptor.structure?.layerCount == 3 && descriptor.structure?.groupSize == 2)
        #expect(descriptor.structure?.dimensions == Dimensions(width: 1280, height: 720))
        #expect(descriptor.size == 1 + structure.count)
        let found = Self.inspect(.vp9, payload)
        #expect(found.isKeyFrame && found.dimensions == Dimensions(width: 1280, height: 720))
        for length in 1...structure.count { #expect(Self.parse(Array(payload.prefix(length))) == nil) }
    }

    @Test("a key frame of VP9 begins with its lowest spatial layer, and its header decides")
    func vp9KeyFrames() {
        let found = Self.inspect(.vp9, [0x08] + Fixtures.vpxKeyFrame)
        #expect(found.isKeyFrame && found.dimensions == Fixtures.size)
        let deep = Self.inspect(.vp9, [0x08] + Fixtures.vpxDeepKeyFrame)
        #expect(deep.isKeyFrame && deep.dimensions == Fixtures.size)
        // The lowest layer with the index 0, the layer above it, and the second packet.
        #expect(Self.inspect(.vp9, [0x28, 0x00, 1] + Fixtures.vpxKeyFrame).isKeyFrame)
        #expect(!Self.inspect(.vp9, [0x28, 0x03, 1] + Fixtures.vpxKeyFrame).isKeyFrame)
        #expect(!Self.inspect(.vp9, [0x04] + Fixtures.vpxKeyFrame).isKeyFrame)
        // FFmpeg never sets P, and an intra-only frame has none.
        #expect(!Self.inspect(.vp9, [0x0C] + Fixtures.vpxFrame).isKeyFrame)
        #expect(!Self.inspect(.vp9, [0x48] + Fixtures.vpxKeyFrame).isKeyFrame)
        #expect(Self.frameHeader(Fixtures.vpxKeyFrame)?.profile == 0)
        #expect(Self.frameHeader(Fixtures.vpxDeepKeyFrame)?.profile == 2)
        #expect(Self.frameHeader(Fixtures.vpxDeepKeyFrame)?.bitDepth == 10)
        for length in 0..<9 { #expect(Self.frameHeader(Array(Fixtures.vpxKeyFrame.prefix(length))) == nil) }
        // RGB, which profile 0 does not have, and a profile beyond 3.
        #expect(Self.frameHeader([0x82, 0x49, 0x83, 0x42, 0xE0] + Fixtures.vpxKeyFrame.dropFirst(5)) == nil)
        #expect(Self.frameHeader([0xB8, 0x49, 0x83, 0x42] + Fixtures.vpxKeyFrame.dropFirst(4)) == nil)
    }

    @Test("the size of a key superframe is that of its largest layer")
    func superframeSize() {
        func size(_ frames: [[UInt8]], end: [UInt8]? = nil) -> Dimensions? {
            let marker = 0xC8 | UInt8(frames.count - 1)
            let sizes = frames.flatMap { [UInt8(truncatingIfNeeded: $0.count), UInt8($0.count >> 8)] }
            let bytes = frames.flatMap(\.self) + (end ?? [marker] + sizes + [marker])
            return VP9Superframe.size(ofKeyFrame: bytes.span)
        }
        // Upper layers with 416x240: one that is resilient to errors, and one that is not shown.
        let resilient: [UInt8] = [0x87, 0x02, 0, 0, 0x03, 0x3E, 0x01, 0xDE]
        let hidden: [UInt8] = [0x84, 0, 0x40, 0, 0, 0x67, 0xC0, 0x3B, 0xC0]
        let large = Dimensions(width: 416, height: 240)
        #expect(size([Fixtures.vpxKeyFrame, resilient]) == large)
        #expect(size([Fixtures.vpxKeyFrame, hidden, Fixtures.vpxFrame]) == large)
        // The size of a frame is that of a reference.
        #expect(size([Fixtures.vpxKeyFrame, Fixtures.vpxFrame]) == Fixtures.size)
        #expect(size([Fixtures.vpxKeyFrame], end: []) == Fixtures.size)
        #expect(size([Fixtures.vpxFrame, resilient]) == nil)
        // Indices that are truncated or state more than there is.
        #expect(size([Fixtures.vpxKeyFrame, resilient], end: [0xC9]) == Fixtures.size)
        #expect(size([Fixtures.vpxKeyFrame], end: [0xC9, 0xFF, 0xFF, 8, 0, 0xC9]) == Fixtures.size)
        for length in 0..<8 {
            #expect(size([Fixtures.vpxKeyFrame, Array(resilient.prefix(length))]) == Fixtures.size)
        }
        #expect(VP9Superframe.size(ofKeyFrame: [UInt8]().span) == nil)
    }

    @Test("the frames of spatial layers become a superframe with an index")
    func superframe() throws {
        let payloads: [[UInt8]] = [
            [0x28, 0x00, 1] + Fixtures.vpxKeyFrame.prefix(20), [0x24, 0x00, 1] + Fixtures.vpxKeyFrame.dropFirst(20),
            [0x2C, 0x03, 1, 0xAA, 0xBB, 0xCC],
        ]
        let (frame, bytes) = H264Fixtures.depacketize(.vp9, payloads)
        #expect(frame == DepacketizedFrame(isKeyFrame: true, hasSlice: true))
        let index: [UInt8] = [0xD9, UInt8(Fixtures.vpxKeyFrame.count), 0, 0, 0, 3, 0, 0, 0, 0xD9]
        #expect(bytes == Fixtures.vpxKeyFrame + [0xAA, 0xBB, 0xCC] + index)
        #expect(H264Fixtures.depacketize(.vp9, Array(payloads.dropFirst())).frame == nil)
        #expect(H264Fixtures.depacketize(.vp9, Array(payloads.prefix(1))).frame == nil)
        #expect(H264Fixtures.depacketize(.vp9, [payloads[0], payloads[2]]).frame == nil)
    }

    @Test("picture IDs and TL0PICIDX of VP9 continue after a switch, and everything else stays")
    func numbers() throws {
        let last = try #require(Self.numbers([0xA8, 0xFF, 0xFF, 0x00, 200, 0x82]))
        let payload: [UInt8] = [0xAA, 0x80, 0x10, 0x00, 7, 0x10, 0x00, 0x10, 0x00, 0x10] + Fixtures.vpxKeyFrame
        let next = try #require(Self.numbers(payload))
        let offset = VPXPictureOffset(continuing: last, with: next, codec: .vp9)
        let copy = withTemporaryBytes(256) { buffer in
            payload.withByteView { offset.copy($0, into: buffer) }
            return Array(buffer[0..<payload.count])
        }
        #expect(Array(copy.prefix(5)) == [0xAA, 0x80, 0x00, 0x00, 201])
        #expect(copy.dropFirst(5) == payload.dropFirst(5))
    }

    // MARK: AV1

    @Test(
        "temporal units of three encoders are divided and assembled, and their key frames are found",
        arguments: [Fixtures.aomKeyFrame, Fixtures.svtKeyFrame, Fixtures.rav1eKeyFrame], [24, 30, 1100])
    func av1(unit: [UInt8], maximum: Int) throws {
        let payloads = H264Fixtures.payloads(of: .av1, unit, maximumPayloadSize: maximum)
        #expect(payloads.allSatisfy { $0.bytes.count <= maximum } && payloads.map(\.isLast).last == true)
        // N is set in the first packet only, and Z and Y match.
        #expect(payloads.map { $0.bytes[0] & 8 != 0 } == payloads.indices.map { $0 == 0 })
        for (earlier, later) in zip(payloads, payloads.dropFirst()) {
            #expect((earlier.bytes[0] & 0x40 != 0) == (later.bytes[0] & 0x80 != 0))
        }
        let found = Self.inspect(.av1, payloads[0].bytes)
        #expect(found.isKeyFrame && found.dimensions == Fixtures.size)
        #expect(payloads.dropFirst().allSatisfy { !Self.inspect(.av1, $0.bytes).isKeyFrame })
        let (frame, bytes) = H264Fixtures.depacketize(.av1, payloads.map(\.bytes))
        #expect(frame == DepacketizedFrame(isKeyFrame: true, hasSlice: true) && bytes == unit)
        let incomplete = payloads.dropLast().map(\.bytes)
        #expect(payloads.count == 1 || H264Fixtures.depacketize(.av1, incomplete).frame?.isKeyFrame != true)
    }

    @Test("other frames of AV1 are no key frames, whether they repeat the sequence header or not")
    func av1Frames() throws {
        let payloads = H264Fixtures.payloads(of: .av1, Fixtures.aomFrame)
        #expect(payloads.count == 1 && payloads[0].bytes[0] & 8 == 0)
        #expect(!Self.inspect(.av1, payloads[0].bytes).isKeyFrame)
        let repeated = Fixtures.aomKeyFrame.prefix(14) + Fixtures.aomFrame.dropFirst(2)
        let other = H264Fixtures.payloads(of: .av1, Array(repeated))
        #expect(!Self.inspect(.av1, other[0].bytes).isKeyFrame)
        let (frame, bytes) = H264Fixtures.depacketize(.av1, other.map(\.bytes))
        #expect(frame == DepacketizedFrame(isKeyFrame: false, hasSlice: true) && bytes == Array(repeated))
    }

    @Test("profile, level and tier of AV1 are read from the sequence header")
    func sequenceHeaders() throws {
        let examples: [([UInt8], level: UInt8)] = [
            (Fixtures.aomKeyFrame, 0), (Fixtures.svtKeyFrame, 0), (Fixtures.rav1eKeyFrame, 31),
        ]
        for (unit, level) in examples {
            let header = try #require(Self.sequenceHeader(Array(unit[4...])))
            #expect(header.profile == 0 && header.level == level && header.tier == 0)
            #expect(header.dimensions == Fixtures.size && header.bitDepth == 8)
        }
        // libaom with 10 bits, and with 4:4:4, which is the profile High.
        let deep: [UInt8] = [0, 0, 0, 3, 0xB6, 0x7F, 0x73, 0x6B, 0xE5, 0x01]
        #expect(Self.sequenceHeader(deep)?.video.codecString == "av01.0.00M.10")
        let high: [UInt8] = [0x20, 0, 0, 3, 0xB6, 0x7F, 0x73, 0x6B, 0xE4, 0x08]
        #expect(Self.sequenceHeader(high)?.video.codecString == "av01.1.00M.08")
        #expect(Self.sequenceHeader(high)?.video.profile == "High")
        for length in 0..<9 { #expect(Self.sequenceHeader(Array(Fixtures.aomKeyFrame[4..<4 + length])) == nil) }
    }

    @Test("elements with a count, with sizes of their own, and units that are of no use are read")
    func aggregates() {
        let header = Array(Fixtures.aomKeyFrame[2..<14])
        // W is 3: a temporal delimiter and a sequence header with sizes of their own, and a frame without.
        let payload: [UInt8] = [0x38, 2, 0x12, 0, 12] + header + [0x30, 0x10, 7, 7]
        #expect(Self.inspect(.av1, payload).isKeyFrame)
        let (frame, bytes) = H264Fixtures.depacketize(.av1, [payload])
        #expect(frame?.isKeyFrame == true)
        #expect(bytes == [0x12, 0] + header + [0x32, 3, 0x10, 7, 7])
        // An extension byte, a size that does not match, an element beyond the payload, and a missing fragment.
        let layered = H264Fixtures.depacketize(.av1, [[0x10, 0x34, 0x28, 0x30, 1]]).bytes
        #expect(layered == [0x12, 0, 0x36, 0x28, 2, 0x30, 1])
        let malformed: [[UInt8]] = [
            // The forbidden bit of a unit.
            [0x10, 0xB0, 0x30, 1],
            [0x10, 0x32, 9, 0x30], [0x00, 9, 0x30], [0x90, 1, 2], [0x50, 0x30, 1], [0x20, 0x81],
        ]
        for broken in malformed {
            #expect(H264Fixtures.depacketize(.av1, [broken]).frame == nil)
        }
    }
}

import PCastCore
import PCastDatabase
import PCastRTMP
import Testing

@testable import PCastPlatform

/// The size that the frames of publishers with a stream key state.
@Suite("Sizes of the video of stream keys") struct IngestVideoSizeTests {
    private static let limits = StreamKeyLimits(width: 1_280, height: 720)

    private static func event(_ codec: FourCC, _ bytes: [UInt8], isKeyFrame: Bool = true) -> RTMPServerEvent {
        .accessUnit(
            RTMPAccessUnit(
                track: RTMPTrackID(.video, 0), codec: codec, bytes: bytes, isKeyFrame: isKeyFrame, decodingTime: .zero,
                presentationTime: .zero, isDiscontinuity: false))
    }

    /// Key frames whose headers end too early, or state a size beyond the maximum of the parser.
    private static let unparsable: [(FourCC, [UInt8])] = [
        (.vp9, [0x82, 0x49, 0x83, 0x42, 0x00]), (.vp9, [0x82, 0x49, 0x83, 0x42, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (.vp8, [0x10, 0, 0, 0x9D, 0x01, 0x2A]),
        // A sequence header of one byte, and a temporal unit without one.
        (.av1, [0x0A, 0x01, 0x00, 0x32, 0x01, 0x10]), (.av1, [0x32, 0x01, 0x10]),
        (.h264, [0, 0, 0, 1, 0x67, 0x42, 0, 0, 0, 1, 0x65, 0x88]),
        (.hevc, [0, 0, 0, 1, 0x42, 0x01, 0x01, 0, 0, 0, 1, 0x26, 0x01, 0xAF]),
    ]

    @Test("a key frame whose size cannot be parsed is beyond a limit of the size", arguments: unparsable)
    func unknownSizes(codec: FourCC, bytes: [UInt8]) {
        let size = Self.event(codec, bytes).videoSize
        #expect(size == .unparsable)
        #expect(size.error(beyond: Self.limits) != nil)
        #expect(size.error(beyond: StreamKeyLimits(height: 720)) != nil)
        #expect(size.error(beyond: StreamKeyLimits(bitrate: .kilobits(1_000))) == nil)
        #expect(Self.event(codec, bytes, isKeyFrame: false).videoSize == .unstated)
    }

    @Test("a stated size is compared with the limit")
    func statedSizes() {
        // 640x480 and 3840x480: the size follows the start code of the key frame (RFC 6386, section 9.1).
        let small = Self.event(.vp8, [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01]).videoSize
        #expect(small == .stated(Dimensions(width: 640, height: 480)))
        #expect(small.error(beyond: Self.limits) == nil)
        let wide = Self.event(.vp8, [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x00, 0x0F, 0xE0, 0x01]).videoSize
        #expect(wide.error(beyond: Self.limits) != nil)
        #expect(wide.error(beyond: StreamKeyLimits(height: 720)) == nil)
    }
}

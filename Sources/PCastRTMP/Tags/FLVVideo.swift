/// Parses the payload of video messages (FLV 10.1, section E.4.3; Enhanced RTMP v2, "Enhanced Video").
enum FLVVideo {
    private static let keyFrame: UInt8 = 1
    /// A key frame that a server generated.
    private static let generatedKeyFrame: UInt8 = 4
    /// A message without media.
    private static let command: UInt8 = 5

    /// Returns the packets of a message. It is empty for a message without media.
    static func packets(_ payload: [UInt8]) throws(FLVError) -> [FLVPacket] {
        var reader = ByteReader(payload)
        guard let first = reader.uint8() else { return [] }
        let frameType = first >> 4 & 7
        let isKeyFrame = frameType == keyFrame || frameType == generatedKeyFrame
        guard first & 0x80 != 0 else {
            return frameType == command
                ? [] : [try legacyPacket(reader, codec: first & 0x0F, isKeyFrame: isKeyFrame)]
        }
        var header = try FLVExtendedHeader(reader, packetType: first & 0x0F, types: .video)
        if frameType == command, header.packetType != 4 {
            _ = try header.readCommand()
            return []
        }
        let nanoseconds = header.nanoseconds
        var packets: [FLVPacket] = []
        try header.forEachTrack { codec, track, type, data throws(FLVError) in
            let (kind, body) = try content(type, of: codec, in: payload, data)
            packets.append(
                FLVPacket(
                    track: track, codec: codec, kind: kind, isKeyFrame: isKeyFrame, nanoseconds: nanoseconds,
                    body: body))
        }
        return packets
    }

    /// Parses a message of H.264, and of H.265 with the number 12, which is not standardized but common.
    private static func legacyPacket(
        _ reader: ByteReader, codec number: UInt8, isKeyFrame: Bool
    ) throws(FLVError) -> FLVPacket {
        var reader = reader
        let codec: FourCC
        switch number {
        case 7: codec = .h264
        case 12: codec = .hevc
        default: throw .unsupportedCodec(legacyName(number))
        }
        guard let type = reader.uint8(), let offset = reader.int24() else { throw .truncated }
        let kind: FLVPacket.Kind
        switch type {
        case 0: kind = .configuration
        case 1: kind = .frame(compositionOffset: offset)
        case 2: kind = .end
        default: throw .reserved
        }
        return FLVPacket(codec: codec, kind: kind, isKeyFrame: isKeyFrame, body: reader.rest)
    }

    private static func legacyName(_ number: UInt8) -> String {
        switch number {
        case 2: "Sorenson H.263"
        case 3, 6: "Screen Video"
        case 4, 5: "VP6"
        default: "video codec \(number)"
        }
    }

    private static func content(
        _ type: UInt8, of codec: FourCC, in payload: [UInt8], _ data: Range<Int>
    ) throws(FLVError) -> (FLVPacket.Kind, Range<Int>) {
        switch type {
        case 0: return (.configuration, data)
        case 1 where codec == .h264 || codec == .hevc:
            var reader = ByteReader(payload, in: data)
            guard let offset = reader.int24() else { throw .truncated }
            return (.frame(compositionOffset: offset), reader.rest)
        case 1, 3: return (.frame(compositionOffset: 0), data)
        case 2: return (.end, data)
        // Metadata such as the color, and the descriptor of MPEG-2 TS.
        case 4, 5: return (.ignored, data)
        default: throw .reserved
        }
    }
}

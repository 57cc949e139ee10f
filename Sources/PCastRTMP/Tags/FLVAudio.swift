/// Parses the payload of audio messages (FLV 10.1, section E.4.2; Enhanced RTMP v2, "Enhanced Audio").
enum FLVAudio {
    /// Returns the packets of a message. It is empty for a message without media, which announces silence.
    static func packets(_ payload: [UInt8]) throws(FLVError) -> [FLVPacket] {
        var reader = ByteReader(payload)
        guard let first = reader.uint8() else { return [] }
        guard first >> 4 == 9 else { return [try legacyPacket(reader, format: first >> 4)] }
        var header = try FLVExtendedHeader(reader, packetType: first & 0x0F, types: .audio)
        let nanoseconds = header.nanoseconds
        var packets: [FLVPacket] = []
        try header.forEachTrack { codec, track, type, data throws(FLVError) in
            let kind: FLVPacket.Kind
            switch type {
            case 0: kind = .configuration
            case 1: kind = .frame(compositionOffset: 0)
            case 2: kind = .end
            // The layout of the channels.
            case 4: kind = .ignored
            default: throw .reserved
            }
            packets.append(
                FLVPacket(
                    track: track, codec: codec, kind: kind, isKeyFrame: true, nanoseconds: nanoseconds, body: data))
        }
        return packets
    }

    private static func legacyPacket(_ reader: ByteReader, format: UInt8) throws(FLVError) -> FLVPacket {
        var reader = reader
        switch format {
        case 2, 14:
            return FLVPacket(codec: .mp3, kind: .frame(compositionOffset: 0), isKeyFrame: true, body: reader.rest)
        case 10:
            guard let type = reader.uint8() else { throw .truncated }
            guard type <= 1 else { throw .reserved }
            return FLVPacket(
                codec: .aac, kind: type == 0 ? .configuration : .frame(compositionOffset: 0), isKeyFrame: true,
                body: reader.rest)
        default: throw .unsupportedCodec(legacyName(format))
        }
    }

    private static func legacyName(_ format: UInt8) -> String {
        switch format {
        case 0, 3: "PCM"
        case 1: "ADPCM"
        case 4, 5, 6: "Nellymoser"
        case 7, 8: "G.711"
        case 11: "Speex"
        default: "audio codec \(format)"
        }
    }
}

import PCastCore
import PCastRTP
import PCastTestSupport

/// A generator of the same payloads for the same seed.
struct PayloadRandom: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }

    /// Returns bytes without zeros, so that they contain no start code.
    mutating func nonZeroBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 1...255, using: &self) }
    }
}

/// Encoded frames that are valid in every part that a payload format reads.
enum H264Fixtures {
    /// 1280x720, baseline, level 3.1, as x264 writes it.
    static let sequenceParameterSet: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
        0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ]
    static let pictureParameterSet: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]

    /// Returns a slice whose first macroblock is the first of the frame.
    static func slice(idr: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        [idr ? 0x65 : 0x41, 0x88] + random.nonZeroBytes(size - 2)
    }

    static func annexB(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    static func accessUnit(key: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        let slice = slice(idr: key, size: size, using: &random)
        return annexB(key ? [sequenceParameterSet, pictureParameterSet, slice] : [slice])
    }

    static func vp8Frame(key: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        var frame = random.nonZeroBytes(size)
        frame[0] = key ? 0x10 : 0x11
        return frame
    }

    static func payloads(
        of codec: Codec, _ bytes: [UInt8], maximumPayloadSize: Int = 1100, pictureID: UInt16? = 7
    ) -> [(bytes: [UInt8], isLast: Bool)] {
        bytes.withByteView { source in
            var packetizer = PayloadPacketizer(
                codec: codec, bytes: source, maximumPayloadSize: maximumPayloadSize, pictureID: pictureID)
            return collect(maximumPayloadSize) { packetizer.next(into: $0) }
        }
    }

    static func collect(
        _ maximumPayloadSize: Int, _ next: (MutableByteView) -> PayloadPacket?
    ) -> [(bytes: [UInt8], isLast: Bool)] {
        var packets: [(bytes: [UInt8], isLast: Bool)] = []
        withTemporaryBytes(max(maximumPayloadSize, 1500)) { buffer in
            while let packet = next(buffer) {
                packets.append((Array(buffer[0..<packet.length]), packet.isLast))
            }
        }
        return packets
    }

    static func depacketize(_ codec: Codec, _ payloads: [[UInt8]]) -> (frame: DepacketizedFrame?, bytes: [UInt8]) {
        var depacketizer = PayloadDepacketizer(codec: codec)
        var bytes: [UInt8] = []
        for payload in payloads { depacketizer.append(payload.span, to: &bytes) }
        let frame = depacketizer.finish(&bytes)
        return (frame, bytes)
    }
}

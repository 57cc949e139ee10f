import PCastCodecs
import PCastCore
import PCastDevices
import PCastRTP

/// A group of frames of the test pattern in H.264, as RTP payloads. A publisher repeats it without encoding.
struct RecordedGroup: Sendable {
    /// The frame rate in frames per second.
    static let rate: Int64 = 30
    private static let dimensions = Dimensions(width: 320, height: 180)
    private static let bitrate = Bitrate.kilobits(300)
    private static let seconds = 2
    /// The time that the strip of the first frame shows.
    private static let captureTime = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    /// The payloads of each frame. The first frame is a key frame with its parameter sets, and each other one refers to the
    /// frame before it.
    let frames: [[[UInt8]]]

    /// Encodes a group. Throws `BenchFailure` if this machine cannot encode H.264.
    static func testPattern() throws -> RecordedGroup {
        do {
            return try RecordedGroup(accessUnits: encoded())
        } catch let error as CodecError {
            throw BenchFailure("the test pattern cannot be encoded: \(error)")
        }
    }

    private static func encoded() throws(CodecError) -> [EncodedFrame] {
        let encoder = try VideoEncoders.open(
            .software, codec: .h264, dimensions: dimensions, frameRate: Double(rate), bitrate: bitrate)
        let pattern = TestPattern(dimensions: dimensions)
        let pool = VideoFramePool()
        var units: [EncodedFrame] = []
        for number in 0..<Int(rate) * seconds {
            let time = TimeSpan.milliseconds(Int64(number) * 1_000 / rate)
            let frame = pool.frame(
                dimensions: dimensions, captureTime: captureTime + time,
                timestamp: MediaTime(ticks: Int64(number) * 90_000 / rate, rate: .video))
            pattern.draw(counter: number, captureTime: captureTime + time, into: frame)
            units += try encoder.encode(frame, forceKeyFrame: number == 0)
        }
        return units
    }

    /// Divides access units into payloads. Throws `BenchFailure` if the first one is not a key frame.
    init(accessUnits: [EncodedFrame]) throws(BenchFailure) {
        guard accessUnits.first?.isKeyFrame == true else {
            throw BenchFailure("the encoded video does not begin with a key frame")
        }
        frames = accessUnits.map { Self.payloads(of: $0.bytes) }.filter { !$0.isEmpty }
    }

    private static func payloads(of accessUnit: [UInt8]) -> [[UInt8]] {
        var buffer = [UInt8](repeating: 0, count: PayloadPacketizer.defaultMaximumPayloadSize)
        return accessUnit.withByteView { unit in
            buffer.withMutableByteView { buffer in
                var packetizer = H264Packetizer(accessUnit: unit)
                var payloads: [[UInt8]] = []
                while let packet = packetizer.next(into: buffer) {
                    payloads.append(Array(ByteView(buffer.extracting(..<packet.length))))
                }
                return payloads
            }
        }
    }
}

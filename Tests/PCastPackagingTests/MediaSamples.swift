import PCastCodecs
import PCastCore
import PCastPackaging
import Testing

/// Encoded media for tests: frames whose content follows from their number.
enum MediaSamples {
    static let size = Dimensions(width: 320, height: 180)

    /// Returns a gradient that moves with the number.
    static func frame(_ number: Int, size: Dimensions = size) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(number) * 3_000, rate: .video))
        for row in 0..<size.height {
            for column in 0..<size.width {
                frame.planeY[row * frame.strideY + column] = UInt8(40 + (column + 5 * number + row) % 160)
            }
        }
        for row in 0..<(size.height + 1) / 2 {
            for column in 0..<(size.width + 1) / 2 {
                frame.planeU[row * frame.strideUV + column] = UInt8(90 + (column + number) % 64)
                frame.planeV[row * frame.strideUV + column] = UInt8(100 + row % 64)
            }
        }
        return frame
    }

    /// Encodes frames as H.264 with key frames at the given numbers. Each has 1/30 s.
    static func video(_ numbers: Range<Int>, keyFrames: Set<Int>, size: Dimensions = size) throws -> [EncodedFrame] {
        let encoder = try VideoEncoders.open(
            .software, codec: .h264, dimensions: size, frameRate: 30, bitrate: .kilobits(800))
        return try numbers.flatMap { number in
            try encoder.encode(frame(number, size: size), forceKeyFrame: keyFrames.contains(number))
        }
    }

    /// Decodes H.264 without a container.
    static func decode(_ frames: [EncodedFrame]) throws -> [VideoFrame] {
        let decoder = try H264Decoder()
        return try frames.flatMap { try decoder.decode($0) }
    }

    /// Returns whether the luma of two frames is the same.
    static func isSame(_ left: VideoFrame, _ right: VideoFrame) -> Bool {
        guard left.dimensions == right.dimensions else { return false }
        for row in 0..<left.dimensions.height {
            for column in 0..<left.dimensions.width
            where left.planeY[row * left.strideY + column] != right.planeY[row * right.strideY + column] {
                return false
            }
        }
        return true
    }

    /// Returns the mean difference of the luma of two frames of the same size.
    static func difference(_ left: VideoFrame, _ right: VideoFrame) -> Double {
        var sum = 0
        for row in 0..<left.dimensions.height {
            for column in 0..<left.dimensions.width {
                let (one, other) = (
                    left.planeY[row * left.strideY + column], right.planeY[row * right.strideY + column]
                )
                sum += abs(Int(one) - Int(other))
            }
        }
        return Double(sum) / Double(left.dimensions.width * left.dimensions.height)
    }

    /// An access unit as small as possible: real parameter sets of a size, and slices without content.
    static func unit(isKeyFrame: Bool, parameterSets: [UInt8], number: Int) -> [UInt8] {
        let content = (0..<60).map { UInt8(1 + ($0 + number) % 250) }
        return isKeyFrame ? parameterSets + [0, 0, 0, 1, 0x65, 0x88] + content : [0, 0, 0, 1, 0x41, 0x9A] + content
    }

    /// The parameter sets of the encoder for a size, in Annex B format.
    static func parameterSets(_ size: Dimensions) throws -> [UInt8] {
        let sample = H264Sample(annexB: try video(0..<1, keyFrames: [0], size: size)[0].bytes)
        return (sample.sequenceSets + sample.pictureSets).flatMap { [0, 0, 0, 1] + $0 }
    }
}

/// The bytes of a file in memory, for the demuxer.
final class MemoryBytes: MediaBytes, @unchecked Sendable {  // used by one thread
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = min(buffer.count, bytes.count - position)
        buffer.copyBytes(from: bytes[position..<position + count])
        position += count
        return count
    }
}

/// The packets and samples that the demuxer and the decoder of FFmpeg read from a file.
struct DemuxedFile {
    var packets: [CodedPacket] = []
    var samples: [PresentationSample] = []

    /// Reads a file: an initialization segment with the fragments that follow it.
    init(_ bytes: [UInt8]) throws {
        let demuxer = try SegmentDemuxer(MemoryBytes(bytes), container: .fragmentedMP4)
        let decoder = PresentationDecoder(from: .seconds(-10 as Int64))
        while let packet = try demuxer.read() {
            packets.append(packet)
            samples += try decoder.decode(packet)
        }
        samples += try decoder.drain()
    }

    var frames: [(frame: VideoFrame, time: TimeSpan)] {
        samples.compactMap { sample in
            if case .frame(let frame, let time, _) = sample { (frame, time) } else { nil }
        }
    }

    /// The audio of the file and the time of its first sample.
    var audio: (samples: [Int16], start: TimeSpan)? {
        var result: (samples: [Int16], start: TimeSpan)?
        for case .audio(let frame, let time) in samples {
            if result == nil { result = ([], time) }
            result?.samples += frame.samples
        }
        return result
    }
}

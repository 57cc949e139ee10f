import Foundation
import PCastCodecs
import PCastCore
import PCastDevices
import PCastRTMP

/// One second of media as a publisher by RTMP sends it: 30 frames of H.264 with 1280x720, and AAC with 48 kHz.
struct RTMPLoadMedia: Sendable {
    static let frameRate = 30
    /// The size of chunks in bytes.
    static let chunkSize = 4_096
    private static let dimensions = Dimensions(width: 1_280, height: 720)
    private static let bitrate = Bitrate.kilobits(2_500)
    private static let samplesPerFrame: Int64 = 1_024

    /// Whether each frame has the numbers of its publisher and itself (``RTMPFrameStamp``).
    let isStamped: Bool
    /// The messages before the first frame, as chunks.
    let headers: [UInt8]
    /// The slices of the frames, each after its length with four bytes.
    private let frames: [[UInt8]]
    private let audio: [[UInt8]]

    /// Creates frames of 2.5 Mbit/s whose slices have no content.
    static func filler(hasAudio: Bool) throws -> RTMPLoadMedia {
        let bytesPerSecond = Int(bitrate.bitsPerSecond) / 8
        let keyFrameSize = 40_000
        let frames = (0..<frameRate).map { index in
            let size = index == 0 ? keyFrameSize : (bytesPerSecond - keyFrameSize) / (frameRate - 1)
            return lengthPrefixed([index == 0 ? 0x65 : 0x41, 0x9A] + [UInt8](repeating: 0x5A, count: size - 2))
        }
        return try RTMPLoadMedia(
            frames, sequenceSet: [0x67, 0x42, 0xC0, 0x1F, 0xDA, 1, 0x40, 0x16, 0xE4],
            pictureSet: [0x68, 0xCE, 0x3C, 0x80],
            isStamped: false, hasAudio: hasAudio)
    }

    /// Encodes one second of the test pattern with at most 2.5 Mbit/s, for frames with numbers.
    ///
    /// - Throws: `BenchFailure` if the encoder makes no parameter sets, or an error of an encoder.
    static func testPattern(hasAudio: Bool) throws -> RTMPLoadMedia {
        let encoder = try VideoEncoders.open(
            .software, codec: .h264, dimensions: dimensions, frameRate: Double(frameRate), bitrate: bitrate)
        let (pattern, pool) = (TestPattern(dimensions: dimensions), VideoFramePool())
        let start = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        var frames: [[UInt8]] = []
        var sets: [UInt8: [UInt8]] = [:]
        for index in 0..<frameRate {
            let time = start + TimeSpan.seconds(1) * Int64(index) / Int64(frameRate)
            let frame = pool.frame(
                dimensions: dimensions, captureTime: time,
                timestamp: MediaTime(ticks: Int64(index) * 90_000 / Int64(frameRate), rate: .video))
            pattern.draw(counter: index, captureTime: time, into: frame)
            for encoded in try encoder.encode(frame, forceKeyFrame: index == 0) {
                var slices: [UInt8] = []
                encoded.bytes.withByteView { view in
                    var reader = AnnexBReader(view)
                    while let unit = reader.nextUnit() {
                        let type = unit[0] & H264NALUnit.typeMask
                        if H264NALUnit.isImage(type) { slices += lengthPrefixed(Array(unit)) }
                        if [H264NALUnit.sequenceParameterSet, H264NALUnit.pictureParameterSet].contains(type) {
                            sets[type] = Array(unit)
                        }
                    }
                }
                frames.append(slices)
            }
        }
        guard frames.count == frameRate, let sequenceSet = sets[H264NALUnit.sequenceParameterSet],
            let pictureSet = sets[H264NALUnit.pictureParameterSet]
        else { throw BenchFailure("the encoder did not return a frame for each one of the test pattern") }
        return try RTMPLoadMedia(
            frames, sequenceSet: sequenceSet, pictureSet: pictureSet, isStamped: true, hasAudio: hasAudio)
    }

    private init(
        _ frames: [[UInt8]], sequenceSet: [UInt8], pictureSet: [UInt8], isStamped: Bool, hasAudio: Bool
    ) throws {
        self.frames = frames
        self.isStamped = isStamped
        let encoder = try AACEncoder()
        let samples = (0..<AudioFrame.sampleRate * 2).flatMap { index -> [Int16] in
            let value = Int16(8_000 * sin(2 * Double.pi * 440 * Double(index) / Double(AudioFrame.sampleRate)))
            return [value, value]
        }
        let tone = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
        audio = hasAudio ? try encoder.encode(tone).map { [0xAF, 1] + $0.bytes } : []
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        writer.chunkSize = Self.chunkSize
        // An AVCDecoderConfigurationRecord with lengths of four bytes and a set of each kind.
        let record: [UInt8] =
            [1] + sequenceSet[1...3] + [0xFF, 0xE1] + Self.size(sequenceSet) + sequenceSet + [1] + Self.size(pictureSet)
            + pictureSet
        writer.write(
            RTMPMessage(type: .video, streamID: 1, payload: [0x17, 0, 0, 0, 0] + record), chunkStream: 6, into: &bytes)
        if hasAudio {
            writer.write(
                RTMPMessage(type: .audio, streamID: 1, payload: [0xAF, 0] + encoder.configuration), chunkStream: 4,
                into: &bytes)
        }
        headers = bytes
    }

    /// Returns the size of a parameter set with two bytes.
    private static func size(_ set: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: set.count >> 8), UInt8(truncatingIfNeeded: set.count)]
    }

    private static func lengthPrefixed(_ unit: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * $0)) } + unit
    }

    /// Returns the slices of a frame of a publisher, each after its length with four bytes.
    func slices(ofFrame number: Int64) -> [UInt8] { frames[Int(number % Int64(frames.count))] }

    /// Returns a frame of a publisher, and the audio of its duration, as chunks.
    func messages(ofFrame number: Int64, of publisher: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        writer.chunkSize = Self.chunkSize
        let rate = Int64(Self.frameRate)
        var payload: [UInt8] = number % rate == 0 ? [0x17, 1, 0, 0, 0] : [0x27, 1, 0, 0, 0]
        if isStamped { payload += Self.lengthPrefixed(RTMPFrameStamp(publisher: publisher, frame: number).unit) }
        payload += slices(ofFrame: number)
        let video = RTMPMessage(
            type: .video, streamID: 1, timestamp: UInt32(truncatingIfNeeded: number * 1_000 / rate), payload: payload)
        writer.write(video, chunkStream: 6, into: &bytes)
        guard !audio.isEmpty else { return bytes }
        let sampleRate = Int64(AudioFrame.sampleRate)
        // The frames of audio that begin within the frame's duration.
        let first = (number * sampleRate / rate + Self.samplesPerFrame - 1) / Self.samplesPerFrame
        let end = ((number + 1) * sampleRate / rate + Self.samplesPerFrame - 1) / Self.samplesPerFrame
        for index in first..<end {
            let time = index * Self.samplesPerFrame * 1_000 / sampleRate
            writer.write(
                RTMPMessage(
                    type: .audio, streamID: 1, timestamp: UInt32(truncatingIfNeeded: time),
                    payload: audio[Int(index % Int64(audio.count))]), chunkStream: 4, into: &bytes)
        }
        return bytes
    }
}

/// The numbers in a frame of a load, by which a recording is compared with its publisher. They are in supplemental enhancement
/// information before the slices (ITU-T H.264, section D.1.7). The bytes need no emulation prevention.
struct RTMPFrameStamp: Hashable, Sendable {
    static let marker = Array("PCastBench".utf8)
    private static let size = marker.count + 8
    /// The type, the UUID of the content, and the end of the unit.
    private static let (head, identifier): ([UInt8], [UInt8]) = ([6, 5], [UInt8](repeating: 0xB5, count: 16))
    private static let end: UInt8 = 0x80

    var publisher: Int
    var frame: Int64

    init(publisher: Int, frame: Int64) { (self.publisher, self.frame) = (publisher, frame) }

    /// The NAL unit.
    var unit: [UInt8] {
        Self.head + [UInt8(Self.identifier.count + Self.size)] + Self.identifier + Self.marker
            + Self.digits(Int64(publisher), 3) + Self.digits(frame, 5) + [Self.end]
    }

    /// Reads the stamp whose marker begins at an index. Returns it with the index after its unit; nil if there is none.
    static func read(_ bytes: [UInt8], at index: Int) -> (stamp: RTMPFrameStamp, end: Int)? {
        guard index + size < bytes.count, bytes[index..<index + marker.count].elementsEqual(marker),
            bytes[index + size] == end
        else { return nil }
        func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 << 7 | Int64($1 & 0x7F) } }
        let start = index + marker.count
        let stamp = RTMPFrameStamp(
            publisher: Int(number(start..<start + 3)), frame: number(start + 3..<start + 8))
        return (stamp, index + size + 1)
    }

    private static func digits(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> Int64(7 * $0) & 0x7F) | 0x80 }
    }
}

import Foundation
import PCastCore
import PCastTestSupport

/// The bytes of a frame as a key. The tests are not optimized, so an array would be hashed and compared byte by byte.
private struct FrameContent: Hashable {
    private let bytes: [UInt8]

    init(_ frame: EncodedFrame) { bytes = frame.bytes }

    static func == (one: FrameContent, other: FrameContent) -> Bool {
        one.bytes.count == other.bytes.count && memcmp(one.bytes, other.bytes, one.bytes.count) == 0
    }

    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

/// Audio and video that a publisher sends, to be compared with what arrives.
struct Broadcast {
    static let interval = TimeSpan.milliseconds(20)

    var videoFrames: TestFrames
    var audio: TestFrames
    /// Whether the encoder answers requests for key frames.
    var answersRequests = true
    private var requestsSeen = 0
    private(set) var sent: [EncodedFrame] = []
    /// The time at which each frame was sent with its audio.
    private(set) var instants: [Instant] = []
    private var numbers: [FrameContent: Int] = [:]

    init(_ codec: Codec, seed: UInt64 = 1, keyFrameInterval: Int = 0) {
        videoFrames = TestFrames(codec, seed: seed, keyFrameInterval: keyFrameInterval)
        videoFrames.timestampInterval = codec.clockRate.ticks(in: Self.interval)
        audio = TestFrames(.opus, seed: seed)
    }

    /// Sends frames, each with a packet of audio, every 20 ms.
    mutating func send(
        _ count: Int, from publisher: CallPeer, by network: VirtualNetwork, clockOffset: TimeSpan = .zero
    ) {
        for _ in 0..<count {
            let captured = VirtualNetwork.clock.wallTime(at: network.now) + clockOffset
            let isAsked = answersRequests && publisher.beginnings > requestsSeen
            requestsSeen = publisher.beginnings
            let frame = videoFrames.next(isKeyFrame: isAsked ? true : nil, captureTime: captured)
            let packet = audio.next(captureTime: captured)
            numbers[FrameContent(frame)] = sent.count
            numbers[FrameContent(packet)] = sent.count
            sent.append(frame)
            instants.append(network.now)
            network.send(packet, from: publisher)
            network.send(frame, from: publisher)
            network.run(for: Self.interval)
        }
    }

    /// The index of a frame in its track; nil if it was never sent.
    func number(of frame: EncodedFrame) -> Int? { numbers[FrameContent(frame)] }

    func isSame(_ frame: EncodedFrame) -> Bool {
        number(of: frame).map { sent[$0].isKeyFrame == frame.isKeyFrame } ?? false
    }

    /// Whether the timestamps of frames differ as much as when they were sent.
    func keepsTime(_ frames: [EncodedFrame]) -> Bool {
        let duration = frames.first?.codec == .opus ? audio.timestampInterval : videoFrames.timestampInterval
        return zip(frames, frames.dropFirst()).allSatisfy { earlier, later in
            guard let first = number(of: earlier), let second = number(of: later) else { return false }
            return later.timestamp.ticks - earlier.timestamp.ticks == Int64(second - first) * duration
        }
    }
}

/// Encoded frames of random bytes, in the form that packetizers and key frame detection need.
struct TestFrames {
    var codec: Codec
    /// The number of frames between key frames; 0 if only the first frame is one.
    var keyFrameInterval = 0
    var keyFrameSize = 5000
    var frameSize = 1800
    var firstTicks: Int64 = 0
    private(set) var count = 0
    private var generator: SeededGenerator

    init(_ codec: Codec, seed: UInt64 = 1, keyFrameInterval: Int = 0) {
        self.codec = codec
        timestampInterval = codec == .opus ? 960 : 3000
        self.keyFrameInterval = keyFrameInterval
        generator = SeededGenerator(seed: seed)
    }

    /// The number of ticks between frames.
    var timestampInterval: Int64

    mutating func next(isKeyFrame: Bool? = nil, captureTime: WallTime? = nil) -> EncodedFrame {
        let isKeyFrame = isKeyFrame ?? (count == 0 || keyFrameInterval > 0 && count % keyFrameInterval == 0)
        let bytes: [UInt8] =
            switch codec {
            case .h264: h264(isKeyFrame)
            case .vp8: vp8(isKeyFrame)
            case .vp9: [isKeyFrame ? 0x82 : 0x86] + Self.vp9Size + random(frameSize)
            case .av1: av1(isKeyFrame)
            case .h265: h265(isKeyFrame)
            case .opus: [0xFC] + random(120)
            }
        defer { count += 1 }
        return EncodedFrame(
            codec: codec, bytes: bytes, isKeyFrame: isKeyFrame || codec == .opus,
            timestamp: MediaTime(ticks: firstTicks + Int64(count) * timestampInterval, rate: codec.clockRate),
            captureTime: captureTime)
    }

    /// The rest of the header of a VP9 key frame of 208x120.
    private static let vp9Size: [UInt8] = [0x49, 0x83, 0x42, 0x00, 0x0C, 0xF0, 0x07, 0x76]

    private mutating func av1(_ isKeyFrame: Bool) -> [UInt8] {
        // The sequence header is one that libaom writes for 208x120.
        let header: [UInt8] = [0x0A, 0x0A, 0, 0, 0, 3, 0xB6, 0x7F, 0x73, 0x6B, 0xE4, 0x01]
        let frame = [isKeyFrame ? 0x10 : 0x30] + random(frameSize)
        let size = [UInt8(frame.count & 0x7F | 0x80), UInt8(frame.count >> 7)]
        return [0x12, 0x00] + (isKeyFrame ? header : []) + [0x32] + size + frame
    }

    private mutating func h265(_ isKeyFrame: Bool) -> [UInt8] {
        let start: [UInt8] = [0, 0, 0, 1]
        guard isKeyFrame else { return start + [0x02, 0x01, 0xD0] + random(frameSize) }
        // The parameter sets are those that x265 writes for 208x120.
        let sets: [[UInt8]] = [
            [0x40, 1, 0x0C, 1, 0xFF, 0xFF, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3C, 0x92, 0x80, 0x90],
            [
                0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3C, 0xA0, 0x1A, 0x20, 0x79, 0x65, 0x92,
                0xA4, 0x93, 0x2B, 0xC0, 0x5A, 2, 0, 0, 3, 0, 2, 0, 0, 3, 0, 0x32, 0x10,
            ], [0x44, 1, 0xC1, 0x72, 0xB4, 0x62, 0x40],
        ]
        return sets.flatMap { start + $0 } + start + [0x26, 0x01, 0xAF] + random(frameSize)
    }

    private mutating func h264(_ isKeyFrame: Bool) -> [UInt8] {
        let start: [UInt8] = [0, 0, 0, 1]
        guard isKeyFrame else { return start + [0x41, 0x9A] + random(frameSize) }
        let parameters = start + [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x01] + start + [0x68, 0xCE, 0x3C, 0x80]
        return parameters + start + [0x65, 0x88] + random(keyFrameSize)
    }

    private mutating func vp8(_ isKeyFrame: Bool) -> [UInt8] {
        isKeyFrame
            ? [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] + random(keyFrameSize)
            : [0x11, 0x02, 0x00] + random(frameSize)
    }

    /// Returns random bytes without zeros, which could form a start code or be removed at the end of a unit.
    private mutating func random(_ size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 8)
        while bytes.count < size {
            var word = generator.next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word) | 1)
                word >>= 8
            }
        }
        return Array(bytes.prefix(size))
    }
}

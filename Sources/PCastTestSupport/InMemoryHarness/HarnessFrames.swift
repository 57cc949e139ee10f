package import PCastCore

/// Encoded frames with the sizes of a 720p30 publisher: 2.5 Mbit/s of video and 48 kbit/s of audio. The frames are
/// valid for RTP payload formats, but not for decoders.
package struct HarnessFrames {
    private static let framesPerSecond: Int64 = 30
    private static let sequenceParameterSet: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
        0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ]
    private static let pictureParameterSet: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]

    private let keyFrame: [UInt8]
    private let frame: [UInt8]
    private let audio: [UInt8]
    private var frames: Int64 = 0
    private var audioFrames: Int64 = 0
    private let beginning: Instant

    /// Creates frames of which the first video and audio frames are due at `beginning`.
    package init(at beginning: Instant) {
        var random = SeededGenerator(seed: 7)
        // No byte is zero, so that no start code occurs.
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 1...255, using: &random) } }
        let start: [UInt8] = [0, 0, 0, 1]
        keyFrame =
            start + Self.sequenceParameterSet + start + Self.pictureParameterSet + start + [0x65, 0x88] + bytes(40_000)
        frame = start + [0x41, 0x9A] + bytes(10_000)
        audio = [0x78] + bytes(119)
        self.beginning = beginning
    }

    /// Returns the next video frame; nil if it is not due yet. The first one is always a key frame.
    package mutating func nextVideo(isKeyFrame: Bool, at now: Instant) -> EncodedFrame? {
        let time = MediaTime(ticks: frames * 90_000 / Self.framesPerSecond, rate: .video)
        guard beginning + time.span <= now else { return nil }
        let isKeyFrame = isKeyFrame || frames == 0
        frames += 1
        return EncodedFrame(
            codec: .h264, bytes: isKeyFrame ? keyFrame : frame, isKeyFrame: isKeyFrame, timestamp: time,
            captureTime: nil)
    }

    /// Returns the next audio frame of 20 ms; nil if it is not due yet.
    package mutating func nextAudio(at now: Instant) -> EncodedFrame? {
        let time = MediaTime(ticks: audioFrames * 960, rate: .opus)
        guard beginning + time.span <= now else { return nil }
        audioFrames += 1
        return EncodedFrame(codec: .opus, bytes: audio, isKeyFrame: true, timestamp: time, captureTime: nil)
    }
}

import PCastMedia
import PCastRTP

/// One track that this side makes: frames in, packets in a log out.
struct LocalTrack: ~Copyable {
    private(set) var log: PacketLog
    private let codec: Codec
    private var sequence: Int64
    private let timestampOffset: UInt32
    private var pictureID: UInt16
    private(set) var captureClock: CaptureClock?

    /// Frames that could not be put into packets.
    private(set) var framesRefused = 0

    init(codec: Codec, using generator: inout some RandomNumberGenerator) {
        self.codec = codec
        log = PacketLog(capacity: codec.mediaType == .video ? 1024 : 256)
        sequence = SequenceUnwrapper.origin
        timestampOffset = UInt32.random(in: 0...UInt32.max, using: &generator)
        pictureID = UInt16.random(in: 0..<0x8000, using: &generator)
    }

    /// Cuts a frame into packets.
    mutating func append(_ frame: EncodedFrame, wallTime: WallTime, at now: Instant) {
        guard frame.codec == codec, !frame.bytes.isEmpty else {
            framesRefused += 1
            return
        }
        let timestamp = timestampOffset &+ UInt32(truncatingIfNeeded: frame.timestamp.ticks)
        captureClock = CaptureClock(
            timestamp: timestamp, wallTime: frame.captureTime ?? wallTime, rate: codec.clockRate)
        frame.bytes.withUnsafeBytes { bytes in
            var packetizer = PayloadPacketizer(codec: codec, bytes: bytes, pictureID: pictureID)
            var isFirst = true
            while let packet = packetizer.next(into: log.roomForNext()) {
                log.append(
                    PacketLog.Entry(
                        sequence: sequence, timestamp: timestamp, marker: packet.isLast && codec != .opus,
                        startsKeyFrame: isFirst && frame.isKeyFrame && codec != .opus, arrival: now,
                        length: packet.length))
                sequence += 1
                isFirst = false
            }
        }
        pictureID = (pictureID + 1) & 0x7FFF
    }
}

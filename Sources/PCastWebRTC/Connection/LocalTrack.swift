import PCastCore
import PCastRTP

/// The sending side of a local track: it packetizes encoded frames into a packet log.
struct LocalTrack: ~Copyable {
    /// The packets, from which the stream sends and retransmits.
    private(set) var log: PacketLog
    private let codec: Codec
    /// The sequence number of the next packet, unwrapped.
    private var sequence: Int64
    /// The random offset of RTP timestamps (RFC 3550, section 5.1).
    private let timestampOffset: UInt32
    /// The VP8 picture ID of the next frame, 15 bits (RFC 7741, section 4.2).
    private var pictureID: UInt16
    /// The mapping from RTP timestamps to wall-clock time at the last frame; nil before the first one.
    private(set) var captureClock: CaptureClock?

    /// The number of frames that were dropped because they are empty or have another codec.
    private(set) var framesRefused = 0

    init(codec: Codec, using generator: inout some RandomNumberGenerator) {
        self.codec = codec
        log = PacketLog(capacity: codec.mediaType == .video ? 1024 : 256)
        sequence = SequenceUnwrapper.origin
        timestampOffset = UInt32.random(in: 0...UInt32.max, using: &generator)
        pictureID = UInt16.random(in: 0..<0x8000, using: &generator)
    }

    /// Packetizes a frame and appends the packets to the log. `wallTime` is the capture time of a frame that does not
    /// have one.
    mutating func append(_ frame: EncodedFrame, wallTime: WallTime, at now: Instant) {
        guard frame.codec == codec, !frame.bytes.isEmpty else {
            framesRefused += 1
            return
        }
        let timestamp = timestampOffset &+ UInt32(truncatingIfNeeded: frame.timestamp.ticks)
        captureClock = CaptureClock(
            timestamp: timestamp, wallTime: frame.captureTime ?? wallTime, rate: codec.clockRate)
        frame.bytes.withByteView { bytes in
            var packetizer = PayloadPacketizer(codec: codec, bytes: bytes, pictureID: pictureID)
            var isFirst = true
            while let packet = packetizer.next(into: log.bufferForNext()) {
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

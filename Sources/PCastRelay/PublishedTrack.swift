import PCastMedia
import PCastRTP
import PCastWebRTC

/// One track of a stream at the relay: its packets, and when they were captured.
struct PublishedTrack: ~Copyable {
    /// About ten seconds of video at 2 Mbit/s, so that a source that cannot be asked for key frames can be joined;
    /// five of sound.
    private static func capacity(_ type: MediaType) -> Int { type == .video ? 2048 : 256 }

    let type: MediaType
    /// Nil where the publisher has no such track; the log is empty then, and stays so.
    let carried: CarriedFormat?
    var log: PacketLog
    /// What arrives of it.
    private(set) var rate = ArrivalRate()
    var captureClock: CaptureClock?
    /// Viewers that have it in their answers.
    var takers = 0

    init(_ type: MediaType, _ media: NegotiatedMedia?) {
        self.type = type
        carried = media.map { CarriedFormat(codec: $0.codec, h264: $0.format.h264) }
        log = PacketLog(capacity: media == nil ? 1 : Self.capacity(type))
    }

    var exists: Bool { carried != nil }

    /// The source started over, with other times than before (RTP11).
    mutating func restart() {
        captureClock = nil
        log.forgetKeyFrame()
    }

    /// Keeps a packet; answers whether a key frame begins with it, nil when it was there already, or is too large or
    /// too old.
    mutating func append(_ packet: MediaReceiver.Packet, payload: UnsafeRawBufferPointer, at now: Instant) -> Bool? {
        guard log.accepts(sequence: packet.sequence) else { return nil }
        rate.arrived(payload.count, at: now)
        let startsKeyFrame =
            type == .video && !payload.isEmpty
            && KeyFrameDetector.startsKeyFrame(codec: packet.codec, payload: Span(_unsafeBytes: payload))
        let entry = PacketLog.Entry(
            sequence: packet.sequence, timestamp: packet.timestamp, marker: packet.marker,
            startsKeyFrame: startsKeyFrame, arrival: now, forwarded: packet.forwarded)
        return log.append(entry, payload: payload) == nil ? nil : startsKeyFrame
    }
}

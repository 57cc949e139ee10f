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
    var captureClock: CaptureClock?
    /// Viewers that are sent it, or are to be.
    var takers = 0
    /// What arrives of it.
    private(set) var activity = TrackActivity()
    /// The size of its pictures, as the last key frame told.
    private(set) var dimensions: Dimensions?
    /// What it takes on the wire; of one that rests, what it took.
    var bitrate: Bitrate?
    /// Since when somebody has wanted it in vain, and until when it is not counted on.
    var missedSince: Instant?
    var missingUntil: Instant?

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
        activity.arrived(payload.count, at: now)
        let startsKeyFrame =
            type == .video && !payload.isEmpty
            && KeyFrameDetector.startsKeyFrame(codec: packet.codec, payload: Span(_unsafeBytes: payload))
        if startsKeyFrame {
            let told = KeyFrameDetector.dimensions(codec: packet.codec, payload: Span(_unsafeBytes: payload))
            dimensions = told ?? dimensions
        }
        let entry = PacketLog.Entry(
            sequence: packet.sequence, timestamp: packet.timestamp, marker: packet.marker,
            startsKeyFrame: startsKeyFrame, arrival: now, forwarded: packet.forwarded)
        return log.append(entry, payload: payload) == nil ? nil : startsKeyFrame
    }
}

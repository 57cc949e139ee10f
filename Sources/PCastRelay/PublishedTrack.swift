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
    /// What another shard has to know of it.
    var outline: TrackOutline {
        TrackOutline(
            captureClock: captureClock, activity: activity, dimensions: dimensions, bitrate: bitrate, keyFrame: keyFrame
        )
    }

    /// Goes on with what another shard knows of it.
    mutating func begin(as outline: TrackOutline) {
        captureClock = outline.captureClock
        activity = outline.activity
        dimensions = outline.dimensions
        bitrate = outline.bitrate
        keyFrame = outline.keyFrame
    }

    /// Viewers that are sent it, or are to be.
    var takers = 0
    /// What arrives of it.
    private(set) var activity = TrackActivity()
    /// The size of its pictures, as the last key frame told.
    private(set) var dimensions: Dimensions?
    /// The newest key frame: its time, and the payload of it that has come.
    private var keyFrame: (timestamp: UInt32, byteCount: Int)?
    /// What key frames take of the bitrate, and whether new viewers may have more of them.
    private(set) var keyFrameShare = KeyFrameShare()
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

    /// What key frames may take of the bitrate that are made for newcomers alone, who come all the time (KEY1).
    private static let shareOfKeyFrames = 0.08
    private static let longestReplay = TimeSpan.seconds(2 as Int64)

    /// How old a key frame may be for a newcomer to begin with it, and to be sent at once what came since: the older, the
    /// larger key frames are. What is sent is bounded by it, and so is what the newcomer has to catch up with. A key frame of
    /// every such time takes `shareOfKeyFrames` of the bitrate.
    var replayAge: TimeSpan {
        guard let keyFrame, let bitrate, bitrate.bitsPerSecond > 0 else { return LayerSwitch.replayAge }
        let seconds = Double(keyFrame.byteCount * 8) / (Double(bitrate.bitsPerSecond) * Self.shareOfKeyFrames)
        return min(max(TimeSpan(seconds: min(seconds, 10)), LayerSwitch.replayAge), Self.longestReplay)
    }

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
            keyFrameShare.spend(replayAge, at: now)
            keyFrame = (packet.timestamp, 0)
        }
        if keyFrame?.timestamp == packet.timestamp { keyFrame?.byteCount += payload.count }
        let entry = PacketLog.Entry(
            sequence: packet.sequence, timestamp: packet.timestamp, marker: packet.marker,
            startsKeyFrame: startsKeyFrame, arrival: now, forwarded: packet.forwarded)
        return log.append(entry, payload: payload) == nil ? nil : startsKeyFrame
    }
}

import PCastCore
import PCastRTP
import PCastWebRTC

/// One track of a stream in the SFU: its packets and their capture times.
struct PublishedTrack: ~Copyable {
    /// The number of packets in the log: about ten seconds of video at 2 Mbit/s, and five seconds of audio.
    private static func capacity(_ type: MediaType) -> Int { type == .video ? 2048 : 256 }
    /// The largest log: about ten seconds of video at 8 Mbit/s, 12 MB.
    private static let largestCapacity = 8192

    let type: MediaType
    /// The track's format. Nil if the publisher has no such track; then the log stays empty.
    let sourceFormat: SourceFormat?
    var log: PacketLog
    /// The capture times of frames, by sender reports or, without usable reports, by arrivals.
    var captureClock: CaptureClock?
    /// Whether `captureClock` is derived from sender reports.
    var followsReports = false
    /// The last sender report.
    var lastReport: SenderInformation?
    private(set) var arrivalClock = ArrivalClock()
    private var keyFrames: KeyFrameFinder
    private var waitingSets = WaitingParameterSets()
    /// The state of the track that another shard needs.
    var snapshot: TrackSnapshot {
        TrackSnapshot(
            captureClock: captureClock, followsReports: followsReports, arrivalClock: arrivalClock, activity: activity,
            dimensions: dimensions, bitrate: bitrate, keyFrame: keyFrame, parameterSets: keyFrames.parameterSets)
    }

    /// Continues with the state from another shard.
    mutating func begin(as snapshot: TrackSnapshot) {
        captureClock = snapshot.captureClock
        followsReports = snapshot.followsReports
        arrivalClock = snapshot.arrivalClock
        keyFrames.begin(with: snapshot.parameterSets)
        activity = snapshot.activity
        dimensions = snapshot.dimensions
        bitrate = snapshot.bitrate
        keyFrame = snapshot.keyFrame
    }

    /// Whether the log grows rather than lose its newest key frame, because the source makes none on request.
    var keepsKeyFrame = false
    /// The number of viewers that receive the track or wait for it.
    var subscribers = 0
    /// The arrivals of its packets.
    private(set) var activity = TrackActivity()
    /// The dimensions of its frames according to the last key frame; nil while they are unknown.
    private(set) var dimensions: Dimensions?
    /// The timestamp of the newest key frame, and the size of the payload that has arrived.
    private var keyFrame: (timestamp: UInt32, byteCount: Int)?
    /// The share of the bit rate that key frames use, which decides whether new viewers may have more of them.
    private(set) var keyFrameShare = KeyFrameShare()
    /// The bit rate on the wire. For a paused track it is the last bit rate; nil while it is unknown.
    var bitrate: Bitrate?
    /// The time since which a viewer has wanted the track without receiving it; nil if there is none.
    var missedSince: Instant?
    /// The time until which the track counts as unavailable; nil if it does not.
    var missingUntil: Instant?

    init(_ type: MediaType, _ media: NegotiatedMedia?) {
        self.type = type
        sourceFormat = media.map { SourceFormat(codec: $0.codec, h264: $0.format.h264) }
        log = PacketLog(capacity: media == nil ? 1 : Self.capacity(type))
        keyFrames = KeyFrameFinder(
            parameterSets: media?.format.parameterSets ?? [], aggregates: media?.packetizationMode != 0)
    }

    var exists: Bool { sourceFormat != nil }

    /// The maximum share of the bit rate for key frames that are made only for new viewers.
    private static let shareOfKeyFrames = 0.08
    private static let longestReplay = TimeSpan.seconds(2 as Int64)

    /// The maximum age of a key frame with which a new viewer begins, followed at once by the frames since. It grows
    /// with the size of key frames. It bounds the burst that the viewer receives, and the time that it has to catch up.
    /// A key frame in each such time uses `shareOfKeyFrames` of the bit rate.
    var replayAge: TimeSpan {
        guard let keyFrame, let bitrate, bitrate.bitsPerSecond > 0 else { return LayerSwitch.replayAge }
        let seconds = Double(keyFrame.byteCount * 8) / (Double(bitrate.bitsPerSecond) * Self.shareOfKeyFrames)
        return min(max(TimeSpan(seconds: min(seconds, 10)), LayerSwitch.replayAge), Self.longestReplay)
    }

    /// Forgets capture times and key frames, because the source restarted with other timestamps.
    mutating func restart() {
        captureClock = nil
        followsReports = false
        lastReport = nil
        arrivalClock = ArrivalClock()
        waitingSets.removeAll()
        discardKeyFrame()
    }

    /// Forgets the newest key frame, so that no viewer begins with it.
    mutating func discardKeyFrame() {
        log.discardKeyFrame()
        keyFrames.discardKeyFrame()
    }

    /// The result of appending a packet.
    enum Appending: Hashable {
        /// The packet is a duplicate, too large or too old.
        case refused
        /// The packet waits for the packet after it.
        case waiting
        /// The packet was appended.
        case appended
        /// The packet was appended and completed the detection of a key frame, which begins at this sequence number.
        case keyFrame(sequence: Int64)
    }

    /// Appends a packet to the log and looks for key frames.
    mutating func append(_ packet: MediaReceiver.Packet, payload: UnsafeRawBufferPointer, at now: Instant) -> Appending
    {
        guard log.accepts(sequence: packet.sequence), !waitingSets.contains(packet.sequence) else { return .refused }
        activity.arrived(payload.count, at: now)
        if !packet.isRetransmission, !payload.isEmpty {
            arrivalClock.observe(packet.timestamp, rate: packet.codec.clockRate, at: now)
        }
        let entry = PacketLog.Entry(
            sequence: packet.sequence, timestamp: packet.timestamp, marker: packet.marker, startsKeyFrame: false,
            arrival: now, forwarded: packet.forwarded)
        guard type == .video else { return log.append(entry, payload: payload) == nil ? .refused : .appended }
        if keepsKeyFrame, log.losesKeyFrameNext, log.capacity < Self.largestCapacity { log.grow() }
        if packet.codec == .h264, waitingSets.keep(entry, payload: payload, in: &log) { return .waiting }
        var found: KeyFrameFinder.KeyFrame?
        while let earlier = waitingSets.next(before: entry, in: &log) {
            let position = log.append(earlier.entry, payload: log.payload(at: earlier.position))
            if position != nil, let keyFrame = keyFrames.appended(.h264, to: &log) { found = keyFrame }
        }
        guard log.append(entry, payload: payload) != nil else { return .refused }
        if keyFrame?.timestamp == packet.timestamp { keyFrame?.byteCount += payload.count }
        if let keyFrame = keyFrames.appended(packet.codec, to: &log) { found = keyFrame }
        guard let found, found.position >= log.start else { return .appended }
        dimensions = found.dimensions ?? dimensions
        keyFrameShare.charge(replayAge, at: now)
        keyFrame = (log[found.position].timestamp, log.payloadSize(from: found.position))
        return .keyFrame(sequence: log[found.position].sequence)
    }
}

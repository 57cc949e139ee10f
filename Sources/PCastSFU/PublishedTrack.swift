import PCastCore
import PCastRTP
import PCastWebRTC

/// One track of a stream at the relay: its packets, and when they were captured.
struct PublishedTrack: ~Copyable {
    /// About ten seconds of video at 2 Mbit/s; five of sound.
    private static func capacity(_ type: MediaType) -> Int { type == .video ? 2048 : 256 }
    /// About ten seconds of video at 8 Mbit/s, 12 MB.
    private static let largestCapacity = 8192

    let type: MediaType
    /// Nil where the publisher has no such track; the log is empty then, and stays so.
    let carried: SourceFormat?
    var log: PacketLog
    /// When its frames were captured: by the publisher's sender reports, or by arrival where those tell nothing.
    var captureClock: CaptureClock?
    /// Whether `captureClock` is by sender reports.
    var followsReports = false
    /// What the last sender report said.
    var lastReport: SenderInformation?
    private(set) var arrivalClock = ArrivalClock()
    private var keyFrames: KeyFrameFinder
    private var waitingSets = WaitingParameterSets()
    /// What another shard has to know of it.
    var outline: TrackSnapshot {
        TrackSnapshot(
            captureClock: captureClock, followsReports: followsReports, arrivalClock: arrivalClock, activity: activity,
            dimensions: dimensions, bitrate: bitrate, keyFrame: keyFrame, parameterSets: keyFrames.parameterSets)
    }

    /// Goes on with what another shard knows of it.
    mutating func begin(as outline: TrackSnapshot) {
        captureClock = outline.captureClock
        followsReports = outline.followsReports
        arrivalClock = outline.arrivalClock
        keyFrames.begin(with: outline.parameterSets)
        activity = outline.activity
        dimensions = outline.dimensions
        bitrate = outline.bitrate
        keyFrame = outline.keyFrame
    }

    /// Whether the log becomes larger rather than lose its newest key frame: the source makes none on request.
    var keepsKeyFrame = false
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
        carried = media.map { SourceFormat(codec: $0.codec, h264: $0.format.h264) }
        log = PacketLog(capacity: media == nil ? 1 : Self.capacity(type))
        keyFrames = KeyFrameFinder(
            parameterSets: media?.format.parameterSets ?? [], aggregates: media?.packetizationMode != 0)
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
        followsReports = false
        lastReport = nil
        arrivalClock = ArrivalClock()
        waitingSets.removeAll()
        forgetKeyFrame()
    }

    /// Nobody begins with a key frame from before.
    mutating func forgetKeyFrame() {
        log.forgetKeyFrame()
        keyFrames.forgetKeyFrame()
    }

    /// What became of a packet.
    enum Appending: Hashable {
        /// It was there already, or is too large or too old.
        case refused
        /// It waits for the packet behind it.
        case waiting
        case appended
        /// It was appended, and a key frame is known by it that begins with the packet of that number.
        case keyFrame(sequence: Int64)
    }

    /// Keeps a packet.
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
        keyFrameShare.spend(replayAge, at: now)
        keyFrame = (log[found.position].timestamp, log.payloadSize(from: found.position))
        return .keyFrame(sequence: log[found.position].sequence)
    }
}

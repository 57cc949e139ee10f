import PCastCore
import PCastRTP
import PCastWebRTC

/// One track of a stream in the SFU: its packets and their capture times.
struct PublishedTrack: ~Copyable {
    /// The number of packets in the log: about ten seconds of video at 2 Mbit/s, and five seconds of audio.
    private static func capacity(_ type: MediaType) -> Int { type == .video ? 2048 : 256 }
    /// The largest log: about ten seconds of video at 8 Mbit/s, 12 MB.
    private static let largestCapacity = 8192
    /// The number of packets in the log of a rendition: about five seconds at 1.6 Mbit/s.
    private static let renditionCapacity = 1024

    let type: MediaType
    /// The format of the newest packets. Nil if the publisher has no such track; then the log stays empty.
    private(set) var sourceFormat: SourceFormat?
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
    /// The layers of the packets, if they are in one SSRC.
    private(set) var layerReader = LayerReader()
    /// The shares of these layers in the bit rate.
    var shares = LayerShares()
    /// The time since which a frame is missing that other frames need; nil if there is none.
    private(set) var brokenSince: Instant?
    /// The state of the track that another shard needs.
    var snapshot: TrackSnapshot {
        TrackSnapshot(
            sourceFormat: sourceFormat, captureClock: captureClock, followsReports: followsReports,
            arrivalClock: arrivalClock, activity: activity, video: video, bitrate: bitrate, keyFrame: keyFrame,
            parameterSets: keyFrames.parameterSets, layerReader: layerReader, shares: shares)
    }

    /// Continues with the state from another shard.
    mutating func begin(as snapshot: TrackSnapshot) {
        sourceFormat = snapshot.sourceFormat
        captureClock = snapshot.captureClock
        followsReports = snapshot.followsReports
        arrivalClock = snapshot.arrivalClock
        keyFrames.begin(with: snapshot.parameterSets)
        activity = snapshot.activity
        video = snapshot.video
        bitrate = snapshot.bitrate
        keyFrame = snapshot.keyFrame
        layerReader = snapshot.layerReader
        shares = snapshot.shares
    }

    /// The parameter sets of the stream; empty for codecs without them.
    var parameterSets: VideoParameterSets { keyFrames.parameterSets }
    /// Whether the log grows rather than lose its newest key frame, because the source makes none on request.
    var keepsKeyFrame = false
    /// The number of viewers that receive the track or wait for it.
    var subscribers = 0
    /// The arrivals of its packets.
    private(set) var activity = TrackActivity()
    /// The format of the video according to the last key frame; nil while it is unknown.
    private(set) var video: CodecParameters?
    /// The dimensions of its frames according to the last key frame; nil while they are unknown.
    var dimensions: Dimensions? { video?.dimensions }
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

    init(_ type: MediaType, _ media: NegotiatedMedia?, isRendition: Bool = false) {
        self.type = type
        sourceFormat = media.map { SourceFormat($0.format) }
        let capacity = isRendition ? Self.renditionCapacity : Self.capacity(type)
        log = PacketLog(capacity: media == nil ? 1 : capacity)
        keyFrames = KeyFrameFinder(
            parameterSets: media?.format.parameterSets ?? [], aggregates: media?.packetizationMode != 0)
    }

    var exists: Bool { sourceFormat != nil }

    /// The maximum share of the bit rate for key frames that are made only for new viewers.
    private static let shareOfKeyFrames = 0.08
    static let longestReplay = TimeSpan.seconds(2 as Int64)

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
        layerReader.restart()
        brokenSince = nil
        discardKeyFrame()
    }

    /// Continues with packets in another format, the first of which begin a key frame. Timestamps and capture times
    /// continue.
    mutating func change(to format: SourceFormat) {
        sourceFormat = format
        video = nil
        keyFrame = nil
        shares = LayerShares()
        waitingSets.removeAll()
        layerReader.restart()
        brokenSince = nil
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
    ///
    /// - Parameters:
    ///   - packet: The packet.
    ///   - payload: Its payload.
    ///   - descriptor: Its dependency descriptor; empty if it has none.
    ///   - now: The current time.
    /// - Returns: The result.
    mutating func append(
        _ packet: MediaReceiver.Packet, payload: ByteView, descriptor: ByteView = ByteView(), at now: Instant
    ) -> Appending {
        guard log.accepts(sequence: packet.sequence), !waitingSets.contains(packet.sequence) else { return .refused }
        activity.arrived(payload.count, at: now)
        if !packet.isRetransmission, !payload.isEmpty {
            arrivalClock.observe(packet.timestamp, rate: packet.codec.clockRate, at: now)
        }
        var entry = PacketLog.Entry(
            sequence: packet.sequence, timestamp: packet.timestamp, marker: packet.marker, startsKeyFrame: false,
            arrival: now, forwarded: packet.forwarded)
        guard type == .video else { return log.append(entry, payload: payload) == nil ? .refused : .appended }
        if packet.codec.hasLayersInPackets {
            entry.layers = layerReader.read(
                packet.codec, payload: payload, descriptor: descriptor, sequence: packet.sequence)
            shares.count(entry.layers, payload.count)
            brokenSince = layerReader.isChainBroken ? brokenSince ?? now : nil
        }
        if keepsKeyFrame, log.losesKeyFrameNext, log.capacity < Self.largestCapacity { log.grow() }
        if packet.codec == .h265, KeyFrameDetector.isSkippedLeading(payload), let position = log.newestKeyFrame {
            entry.leadingDistance = UInt16(clamping: entry.sequence - log[position].sequence)
        }
        if waitingSets.keep(entry, packet.codec, payload: payload, in: &log) { return .waiting }
        var found: KeyFrameFinder.KeyFrame?
        while let earlier = waitingSets.next(before: entry, in: &log) {
            let position = log.append(earlier.entry, payload: log.payload(at: earlier.position))
            if position != nil, let keyFrame = keyFrames.appended(packet.codec, to: &log) { found = keyFrame }
        }
        guard append(entry, packet.codec, payload: payload, descriptor: descriptor) else { return .refused }
        if keyFrame?.timestamp == packet.timestamp { keyFrame?.byteCount += payload.count }
        if let keyFrame = keyFrames.appended(packet.codec, to: &log) { found = keyFrame }
        guard let found, found.position >= log.start else { return .appended }
        video = found.video ?? video
        keyFrameShare.charge(replayAge, at: now)
        keyFrame = (log[found.position].timestamp, log.payloadSize(from: found.position))
        return .keyFrame(sequence: log[found.position].sequence)
    }
}

extension PublishedTrack {
    /// Appends an entry to the log with its dependency descriptor, if it has one. Returns whether it was appended.
    ///
    /// The descriptors of H.264 are not forwarded. The parameter sets that the SFU adds to a key frame have none, and receivers
    /// find the frames of H.264 without them.
    private mutating func append(
        _ entry: PacketLog.Entry, _ codec: Codec, payload: ByteView, descriptor: ByteView
    ) -> Bool {
        let logged = layerReader.logged
        guard logged.exists, codec != .h264 else { return log.append(entry, payload: payload) != nil }
        if log.decodeTargets.newest != layerReader.structureNumber, let structure = layerReader.structure {
            log.note(structure, number: layerReader.structureNumber)
        }
        if layerReader.completed.isEmpty {
            return log.append(entry, payload: payload, descriptor: logged, bytes: descriptor) != nil
        }
        return layerReader.completed.withByteView {
            log.append(entry, payload: payload, descriptor: logged, bytes: $0) != nil
        }
    }

    /// The time between two requests for a key frame because of the same missing frame.
    private static let brokenChainInterval = TimeSpan.seconds(1 as Int64)

    /// Whether a frame is missing that other frames need, and was not retransmitted for a time. No viewer can decode the
    /// following frames of its layer, so that a key frame is requested before the viewers ask for one. If true, the key
    /// frame counts as requested.
    mutating func isChainBroken(for time: TimeSpan, at now: Instant) -> Bool {
        guard let brokenSince, subscribers > 0, now - brokenSince >= time else { return false }
        self.brokenSince = now + Self.brokenChainInterval
        return true
    }
}

extension Codec {
    /// Whether packets may state their temporal or spatial layer. Those of H.264 do so in the dependency descriptor only.
    fileprivate var hasLayersInPackets: Bool {
        switch self {
        case .vp8, .vp9, .av1, .h264: true
        case .h265, .opus: false
        }
    }
}

/// The share of a layer's bit rate that key frames use. It decides whether a key frame may be requested for a new
/// viewer (generic cell rate algorithm, ITU-T I.371).
///
/// Every key frame costs the time in which its size is that share of the bit rate. A few may follow each other quickly.
/// When many viewers join one after another, they share one key frame in each such time.
struct KeyFrameShare: Hashable, Sendable {
    /// The number of key frames that may be requested in a row.
    static let burst: Int64 = 3

    /// The time at which all costs are compensated; nil before the first key frame.
    private var whole: Instant?
    private var cost = TimeSpan.zero

    /// Accounts for a key frame that arrived. Its cost is the time in which a key frame of its size uses the share.
    mutating func charge(_ cost: TimeSpan, at now: Instant) {
        // A source that makes more key frames by itself delays new viewers by no more than a burst.
        whole = min(max(whole ?? now, now) + cost, now + cost * Self.burst)
        self.cost = cost
    }

    /// Whether another key frame may be requested for a new viewer.
    func allowsRequest(at now: Instant) -> Bool {
        guard let whole else { return true }
        return whole - now <= cost * (Self.burst - 1)
    }
}

/// The layers of a stream's video in the publisher's order, at stable addresses. There is one without simulcast, and
/// one that does not exist without video.
///
/// It is marked `@safe` for these reasons. It owns the tracks until `deinit`, and they never move. Each access checks the
/// index. A reference is used by the SFU that owns the stream, on one thread, and not after the stream was removed.
@safe
struct VideoLayers: ~Copyable {
    private let tracks: UnsafeMutablePointer<PublishedTrack>
    let count: Int

    init(count: Int, _ make: (Int) -> PublishedTrack) {
        precondition(count > 0, "there must be at least one track")
        self.count = count
        unsafe tracks = .allocate(capacity: count)
        for index in 0..<count { unsafe (tracks + index).initialize(to: make(index)) }
    }

    deinit {
        unsafe tracks.deinitialize(count: count)
        unsafe tracks.deallocate()
    }

    var indices: Range<Int> { 0..<count }

    /// Whether the stream has video.
    var exist: Bool { unsafe tracks.pointee.exists }

    /// Returns a reference to a layer, which is valid as long as the layers.
    func address(_ index: Int) -> MutableReference<PublishedTrack> { unsafe MutableReference(pointer(index)) }

    private func pointer(_ index: Int) -> UnsafeMutablePointer<PublishedTrack> {
        precondition(indices.contains(index), "the layer does not exist")
        return unsafe tracks + index
    }

    subscript(index: Int) -> PublishedTrack {
        unsafeAddress { unsafe UnsafePointer(pointer(index)) }
        unsafeMutableAddress { unsafe pointer(index) }
    }
}

/// Estimates when the frames of a track were captured from the times at which they arrive. It is used when the
/// publisher's sender reports state no time, or an impossible one.
///
/// The network only adds delay, so the frame with the least delay gives the best estimate. Clock drift is followed
/// slowly.
struct ArrivalClock {
    /// A timestamp, and the time at which it would have arrived without any delay.
    private var reference: (timestamp: UInt32, arrival: Instant)?
    /// The time of the current reference's first packet.
    private var began = Instant(nanoseconds: 0)
    /// The arrival of the newest packet; nil before the first one.
    private(set) var last: Instant?

    /// A larger difference between timestamps and elapsed time means that the timestamps come from another clock.
    private static let longestDelay = TimeSpan.seconds(2 as Int64)
    /// A publisher that sends reports sends the first one within this time.
    private static let settlingTime = TimeSpan.seconds(1 as Int64)

    /// Updates the estimate by the arrival of a packet with an RTP timestamp.
    mutating func observe(_ timestamp: UInt32, rate: ClockRate, at now: Instant) {
        last = now
        guard let reference, reference.timestamp != timestamp else {
            if reference == nil { begin(timestamp, at: now) }
            return
        }
        let expected =
            reference.arrival + rate.span(ofTicks: Int64(Int32(bitPattern: timestamp &- reference.timestamp)))
        let delay = now - expected
        if max(delay, .zero - delay) > Self.longestDelay { return begin(timestamp, at: now) }
        self.reference = (timestamp, delay < .zero ? now : expected + delay / 128)
    }

    private mutating func begin(_ timestamp: UInt32, at now: Instant) {
        reference = (timestamp, now)
        began = now
    }

    /// Whether a publisher that sends reports would have sent one by now.
    func isSettled(at now: Instant) -> Bool { reference != nil && now - began >= Self.settlingTime }

    /// The estimated capture clock; nil before the first packet.
    func captureClock(rate: ClockRate, _ clock: WallClockReference) -> CaptureClock? {
        reference.map { CaptureClock(timestamp: $0.timestamp, wallTime: clock.wallTime(at: $0.arrival), rate: rate) }
    }
}

/// The arrivals of a track: the time of the last packet, and the bit rate on the wire, including headers.
struct TrackActivity {
    private static let spanCount = 8
    private static let span = TimeSpan.milliseconds(100)
    /// The headers of IPv4, UDP and RTP with a few extensions, and the authentication tag, in bytes.
    private static let overhead = 70

    /// The bytes of the last spans of 100 ms, each at its number modulo eight.
    private var bytes = SIMD8<Int32>(repeating: 0)
    /// The number of the newest span.
    private var newest: Int64 = 0
    private var start: Instant?

    private(set) var lastArrival: Instant?

    mutating func arrived(_ payload: Int, at now: Instant) {
        if start == nil || isSilent(at: now) {
            start = now
            bytes = SIMD8(repeating: 0)
            newest = Self.number(now)
        }
        move(to: Self.number(now))
        bytes[Int(newest) & (Self.spanCount - 1)] &+= Int32(payload + Self.overhead)
        lastArrival = now
    }

    private static func number(_ now: Instant) -> Int64 { now.nanoseconds / span.nanoseconds }

    private mutating func move(to number: Int64) {
        while newest < number {
            newest += 1
            bytes[Int(newest) & (Self.spanCount - 1)] = 0
        }
    }

    private static let silence = span * Int64(spanCount)

    private func isSilent(at now: Instant) -> Bool { lastArrival.map { now - $0 >= Self.silence } ?? true }

    /// The bit rate over the last 0.8 s; nil before that time has passed. If packets have just stopped, it is the last
    /// bit rate before; later it is nil.
    func bitrate(at now: Instant) -> Bitrate? {
        guard let start, let lastArrival, now - start >= Self.silence, !isSilent(at: now) else { return nil }
        let end = now - lastArrival > Self.span ? lastArrival : now
        var copy = self
        copy.move(to: Self.number(end))
        // The newest span is incomplete.
        let open = TimeSpan.nanoseconds(end.nanoseconds % Self.span.nanoseconds)
        let seconds = (Self.span * Int64(Self.spanCount - 1) + open).seconds
        return Bitrate(bitsPerSecond: Int64(Double(copy.bytes.wrappedSum()) * 8 / seconds))
    }
}

/// Parameter sets of H.264 and H.265 that wait for the next packet and are sent with its timestamp.
///
/// They belong to the next frame (ITU-T H.264, section 7.4.1.2.3). Some senders give them the timestamp of the frame
/// before, or another one. Receivers take this for a frame without a slice, and Chromium then requests a key
/// frame. The next packet usually follows at once. Without it, the parameter sets are of no use to a viewer.
struct WaitingParameterSets {
    /// A packet that waits. Its payload is in the log, in an entry that is not sent.
    struct Packet {
        var entry: PacketLog.Entry
        let position: Int64
    }

    /// The maximum number of waiting packets. An access unit starts with a delimiter, some parameter sets and some
    /// supplemental information. If there are more, all are sent.
    private static let maximumCount = 8

    private var packets: [Packet] = []

    /// Whether a packet with the sequence number waits.
    func contains(_ sequence: Int64) -> Bool {
        guard !packets.isEmpty else { return false }
        return packets.contains { $0.entry.sequence == sequence }
    }

    mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

    /// Keeps a packet if it has to wait. Returns true if it was kept.
    mutating func keep(_ entry: PacketLog.Entry, _ codec: Codec, payload: ByteView, in log: inout PacketLog) -> Bool {
        guard KeyFrameDetector.precedesSlice(codec, payload), packets.count < Self.maximumCount,
            let position = log.appendUnnumbered(timestamp: entry.timestamp, arrival: entry.arrival, payload: payload)
        else { return false }
        if packets.capacity == 0 { packets.reserveCapacity(Self.maximumCount) }
        packets.append(Packet(entry: entry, position: position))
        return true
    }

    /// Removes and returns the next packet to send before another one; nil if there is none.
    mutating func next(before entry: PacketLog.Entry, in log: inout PacketLog) -> Packet? {
        guard !packets.isEmpty,
            let index = packets.indices.min(by: { packets[$0].entry.sequence < packets[$1].entry.sequence }),
            packets[index].entry.sequence < entry.sequence
        else { return nil }
        let behind = packets[index].entry.sequence + Int64(packets.count)
        var packet = packets.remove(at: index)
        guard packet.position >= log.start else { return next(before: entry, in: &log) }
        // If packets are missing in between, the frame of the parameter sets is unknown.
        if behind >= entry.sequence {
            packet.entry.timestamp = entry.timestamp
            packet.entry.marker = false
        }
        packet.entry.arrival = entry.arrival
        return packet
    }
}

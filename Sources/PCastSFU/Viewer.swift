import PCastCore
import PCastRTP
import PCastWebRTC

/// A viewer: its transport, and its positions in the tracks of its stream.
struct Viewer: ~Copyable {
    // These members are read for each packet and are therefore adjacent; see `prefetch`.

    let stream: Int
    var isWatching = false
    var isEnding = false
    /// Whether the viewer is sent audio.
    var receivesAudio = true
    /// The layer that the viewer is sent, and the layer that it should receive.
    var layers = LayerSwitch()
    /// The previous layer, whose packets the viewer may still request.
    var formerLayer: Int?
    /// The pause that empties the viewer's link; nil if there is none.
    var drain: CongestionPause?
    var deadlines: PeerDeadlines
    var quality = DownlinkQuality()
    var sender: MediaSender
    var transport: SecureTransport

    // These members are also read for reports.

    let peer: PeerID
    var isAway = false
    var hasControl = false
    /// Whether the viewer is scheduled on its own; see `Forwarder.sendScheduled`.
    var hasScheduledSend = false
    /// Whether the viewer counts in statistics; see ``PeerOptions/isCounted``.
    let isCounted: Bool
    /// The layers of a viewer that is the SFU of another node; nil for all others.
    var node: NodeLayers?
    /// Whether the viewer receives renditions only, because it does not decode the publisher's codec.
    var needsOtherCodec = false
    /// Whether the viewer receives no video, because it decodes neither the publisher's codec nor that of renditions.
    var lacksCodec = false
    /// The layers that the viewer subscribes to, as bits.
    var subscribedLayers: UInt8 = 0
    var scheduled: Instant?
    var selection = LayerSelection()
    /// The minimum time that the viewer holds frames; nil if it sets none.
    let playout: TimeSpan?
    var keyFrames = KeyFrameBudget()
    /// The time of the last request for a key frame with which a higher spatial layer in the SSRC can begin.
    private var lastRaise: Instant?

    init(
        peer: PeerID, stream: Int, transport: consuming SecureTransport, sender: consuming MediaSender,
        terms: PeerOptions, began: Instant
    ) {
        self.peer = peer
        self.stream = stream
        self.transport = transport
        self.sender = sender
        playout = terms.playout
        isCounted = terms.isCounted
        if terms.isNode { node = NodeLayers() }
        deadlines = PeerDeadlines(terms, began: began)
    }

    /// Prefetches the memory of one step; see `Prefetch`.
    @inline(__always)
    mutating func prefetch(_ step: Prefetch) {
        if step == .own { Prefetch.fetch(AddressRange(from: &isWatching, through: &quality.repair)) }
        transport.prefetch(step)
        sender.prefetch(step)
    }

    /// The deadline for everything that is not paced. It includes `timerSlack`, because thousands of viewers would
    /// otherwise wake the thread one by one.
    var deferrableDeadline: Instant? {
        mutating get {
            let due = Instant.earlier(transport.deadline, deadlines.next)
            guard transport.canSend else { return due.map { $0 + Self.timerSlack } }
            return Instant.earlier(due, sender.unpacedDeadline).map { $0 + Self.timerSlack }
        }
    }

    var pacingDeadline: Instant? { mutating get { transport.canSend ? sender.pacingDeadline : nil } }

    /// The time by which a deadline may be deferred. It is longer than a frame interval, so that frames wake the
    /// thread.
    static let timerSlack = TimeSpan.milliseconds(40)

    /// Whether anything except a paced send is due.
    mutating func hasDeadline(at now: Instant) -> Bool {
        if let checks = transport.deadline, checks <= now { return true }
        guard transport.canSend, let deadline = sender.unpacedDeadline else { return false }
        return deadline <= now
    }

    /// Writes checks, handshakes and reports that are due. Returns true if the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        return sender.pollReports(through: &transport, into: &batch, wallTime: wallTime, at: now)
    }

    /// Whether `poll` has anything to write that does not wait for media.
    mutating func hasControlPackets(at now: Instant) -> Bool {
        if transport.hasOutput { return true }
        guard let deadline = sender.reportDeadline else { return false }
        return deadline <= now
    }

    // MARK: Media

    /// The estimated bit rate that the link carries, including audio.
    var allowance: Bitrate { mutating get { sender.targetBitrate } }

    /// Sends the available audio, and adds the number of packets to `count`. Returns true if the batch is full.
    mutating func sendAudio(
        _ track: inout PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> Bool {
        let result = sender.sendAll(
            .audio, from: track.log, through: &transport, into: &batch, capture: track.captureClock,
            at: now)
        note(result, count: &count, at: now)
        if case .full = result.end { return true }
        return false
    }

    /// Updates counters after sending. Probes do not count as data.
    private mutating func note(_ result: MediaSender.SendResult, count: inout Int, at now: Instant) {
        count += result.packets
        if result.data > 0 { deadlines.noteData(at: now) }
    }

    /// The result of sending video.
    enum VideoSending {
        case idle
        /// The batch is full.
        case full
        /// A frame is complete, and the switch of layers may continue.
        case endedFrame
    }

    /// Sends the available video of a layer, and adds the number of packets to `count`. It stops after a frame if a
    /// switch of layers or a replay is in progress.
    mutating func sendVideo(
        _ track: inout PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> VideoSending {
        let result = sender.sendAll(
            .video, from: track.log, through: &transport, into: &batch, capture: track.captureClock,
            stopsAfterFrame: layers.needsSteps, backlog: layers.backlog, at: now)
        note(result, count: &count, at: now)
        return switch result.end {
        case .sent: .endedFrame
        case .idle, .paced: .idle
        case .full: .full
        }
    }

    /// Sends the available packets of a layer to another node, and adds their number to `count`. Returns true if the
    /// batch is full.
    mutating func sendLayer(
        _ layer: Int, _ track: inout PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> Bool {
        let result = sender.sendAll(
            layer: layer, from: track.log, through: &transport, into: &batch, capture: track.captureClock, at: now)
        note(result, count: &count, at: now)
        if case .full = result.end { return true }
        return false
    }

    /// Retransmits a packet of the layer that was left.
    mutating func resend(
        from former: borrowing PacketLog, into batch: inout DatagramBatch, at now: Instant
    ) -> MediaSender.Sending {
        sender.resend(from: former, through: &transport, into: &batch, at: now)
    }

    /// Retransmits packets of a layer that may have been lost, if so many packets are lost that requests do not arrive
    /// (`MissingFeedbackDetector`).
    mutating func repeatUnreported(_ log: borrowing PacketLog, at now: Instant) {
        guard quality.repair.losesAnswers, !sender.isCongested,
            let span = quality.silence.takeUnreported(roundTrip: sender.roundTrip, at: now)
        else { return }
        sender.video?.pointee.stream.resend(arrivedIn: span, of: log, roundTrip: sender.roundTrip, at: now)
    }

    /// Skips to the end of the log if the next audio packet is no longer in it.
    mutating func catchUpAudio(_ log: borrowing PacketLog) {
        guard let audio = sender.audio, audio.pointee.stream.isBehindLog(log) else { return }
        audio.pointee.stream.beginAtEnd(of: log)
    }

    /// The interval of requests for a key frame with which a higher spatial layer in the SSRC can begin.
    private static let raiseInterval = TimeSpan.seconds(1 as Int64)

    /// Returns the layer whose SSRC has the higher spatial layer that the viewer should receive, if a key frame with
    /// which that can begin has to be requested now; otherwise nil.
    mutating func takeLayerWithoutKeyFrame(at now: Instant) -> Int? {
        guard let layer = layers.current, layers.wanted == layer,
            sender.video?.pointee.stream.needsKeyFrameForLayer == true,
            lastRaise.map({ now - $0 >= Self.raiseInterval }) ?? true
        else { return nil }
        lastRaise = now
        return layer
    }

    /// Stops video until a key frame arrives.
    mutating func videoLost(at now: Instant) {
        sender.video?.pointee.stream.pause()
        layers.restart(at: now)
    }

    /// Whether the link is full and the next packet has waited too long.
    mutating func isSendQueueStale(_ log: borrowing PacketLog, at now: Instant) -> Bool {
        guard sender.isCongested, let since = sender.video?.pointee.stream.waiting(in: log)?.since else { return false }
        // Frames since an old key frame are late in any case, and are sent more slowly on a full link.
        guard layers.backlog == .live else { return false }
        return CongestionPause.isDue(waiting: since, in: log, at: now)
    }

    /// Stops video until the link is empty and a key frame has arrived after that.
    mutating func dropQueuedVideo(at now: Instant) {
        videoLost(at: now)
        drain = CongestionPause(since: now)
    }
}

/// The budget of one viewer for key frames, because each one is sent to all viewers of the layer.
///
/// It allows a few in a row, which a viewer needs after losses, and then one in each `interval`. The viewer repeats a
/// request that is refused.
struct KeyFrameBudget: Hashable, Sendable {
    static let interval = TimeSpan.seconds(2 as Int64)
    static let burst: Int64 = 4

    /// The time at which the budget is complete again (generic cell rate algorithm, ITU-T I.371).
    private var nextFullTime = Instant(nanoseconds: .min)

    /// Whether a request may be forwarded now. If true, it counts as forwarded.
    mutating func take(at now: Instant) -> Bool {
        let base = max(nextFullTime, now)
        guard base - now <= Self.interval * (Self.burst - 1) else { return false }
        nextFullTime = base + Self.interval
        return true
    }
}

/// The deadlines by which a peer must be connected and must send data, if its options set them.
struct PeerDeadlines {
    /// The time by which the peer must be connected. Nil once it is, and if only ICE's timeout applies.
    private var setup: Instant?
    private let abandonLimit: TimeSpan?
    /// The time of the last data; nil before the peer is connected, and if there is no limit.
    private var lastData: Instant?

    /// Creates the deadlines of a peer that was admitted, or was sent an offer, at the time `began`.
    init(_ terms: PeerOptions, began: Instant) {
        setup = terms.setupLimit.map { began + $0 }
        abandonLimit = terms.abandonLimit
    }

    mutating func connected(at now: Instant) {
        setup = nil
        if abandonLimit != nil { lastData = now }
    }

    /// Records that data arrived, or that none could arrive. It is called for each packet.
    mutating func noteData(at now: Instant) {
        if lastData != nil { lastData = now }
    }

    var next: Instant? { setup ?? abandonment }

    private var abandonment: Instant? {
        guard let lastData, let abandonLimit else { return nil }
        return lastData + abandonLimit
    }

    func hasPassed(at now: Instant) -> Bool { next.map { $0 <= now } ?? false }
}

import PCastCore
import PCastRTP
import PCastWebRTC

/// A viewer: how it is reached, and where it stands in the tracks of its stream.
struct Viewer: ~Copyable {
    // What each packet asks for, together; see `prefetch`.

    let stream: Int
    var isWatching = false
    var isEnding = false
    /// Whether it is sent sound.
    var hears = true
    /// The layer that it is sent, and the one that it shall have.
    var layers = LayerSwitch()
    /// The layer that it had before, whose packets it may still ask for.
    var formerLayer: Int?
    /// While its link is emptied.
    var drain: CongestionPause?
    var deadlines: PeerDeadlines
    var quality = DownlinkQuality()
    var sender: MediaSender
    var transport: SecureTransport

    // What reports ask for as well.

    let peer: PeerID
    var isAway = false
    var hasControl = false
    /// It waits for a turn of its own; see `SFU.giveTurn`.
    var hasTurn = false
    /// See ``PeerOptions/isCounted``.
    let isCounted: Bool
    /// The layers that it counts as a taker of, as bits.
    var takenLayers: UInt8 = 0
    var scheduled: Instant?
    var selection = LayerSelection()
    /// How long it wishes to hold pictures at least.
    let playout: TimeSpan?
    var keyFrames = KeyFrameBudget()
    var routes: PeerKeys

    init(
        peer: PeerID, stream: Int, transport: consuming SecureTransport, routes: PeerKeys,
        sender: consuming MediaSender, terms: PeerOptions, began: Instant
    ) {
        self.peer = peer
        self.stream = stream
        self.transport = transport
        self.routes = routes
        self.sender = sender
        playout = terms.playout
        isCounted = terms.isCounted
        deadlines = PeerDeadlines(terms, began: began)
    }

    /// See `Prefetch`.
    @inline(__always)
    mutating func prefetch(_ step: Prefetch) {
        if step == .own { Prefetch.bring(&isWatching, through: &quality.repair) }
        transport.prefetch(step)
        sender.prefetch(step)
    }

    /// Answers the paths that mean nothing any more.
    mutating func rememberPath(_ path: NetworkPath) -> [NetworkPath] {
        routes.add(path: path)
        var routes = routes
        let stale = routes.takeStalePaths { transport.isValidated($0) }
        self.routes = routes
        return stale
    }

    /// Until when what is not paced waits at most for something else that wakes the thread: thousands would do so one by one.
    var deferrableDeadline: Instant? {
        mutating get {
            let due = Instant.earlier(transport.deadline, deadlines.next)
            guard transport.canSend else { return due.map { $0 + Self.timerSlack } }
            return Instant.earlier(due, sender.unpacedDeadline).map { $0 + Self.timerSlack }
        }
    }

    var pacingDeadline: Instant? { mutating get { transport.canSend ? sender.pacingDeadline : nil } }

    /// For so long; between two pictures there is less.
    static let timerSlack = TimeSpan.milliseconds(40)

    /// Whether anything but the pacer wants to go on now.
    mutating func hasDeadline(at now: Instant) -> Bool {
        if let checks = transport.deadline, checks <= now { return true }
        guard transport.canSend, let deadline = sender.unpacedDeadline else { return false }
        return deadline <= now
    }

    /// Writes checks, handshakes and reports that are due; true when the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        return sender.pollReports(through: &transport, into: &batch, wallTime: wallTime, at: now)
    }

    /// Whether `poll` has anything to write that does not wait for packets.
    mutating func wantsToSpeak(at now: Instant) -> Bool {
        if transport.hasOutput { return true }
        guard let deadline = sender.reportDeadline else { return false }
        return deadline <= now
    }

    // MARK: Media

    /// What its link carries, sound and all, as far as is known.
    var allowance: Bitrate { mutating get { sender.targetBitrate } }

    /// Sends what there is of the sound; true when the batch is full.
    ///
    /// - Parameter count: goes up by one for each packet.
    mutating func sendSound(
        _ track: inout PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> Bool {
        let turn = sender.sendAll(
            .audio, from: track.log, through: &transport, into: &batch, capture: track.captureClock,
            at: now)
        note(turn, count: &count, at: now)
        if case .full = turn.end { return true }
        return false
    }

    /// What the link is tried with is no data.
    private mutating func note(_ turn: MediaSender.Turn, count: inout Int, at now: Instant) {
        count += turn.packets
        if turn.data > 0 { deadlines.noteData(at: now) }
    }

    /// What became of sending video.
    enum VideoSending {
        case idle
        /// The batch is full.
        case full
        /// A frame was ended, and another layer is wanted.
        case endedFrame
    }

    /// Sends what there is of a layer; where another is wanted, up to the end of the next frame.
    ///
    /// - Parameter count: goes up by one for each packet.
    mutating func sendVideo(
        _ track: inout PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> VideoSending {
        let turn = sender.sendAll(
            .video, from: track.log, through: &transport, into: &batch, capture: track.captureClock,
            stopsAfterFrame: layers.needsSteps, backlog: layers.backlog, at: now)
        note(turn, count: &count, at: now)
        return switch turn.end {
        case .sent: .endedFrame
        case .idle, .paced: .idle
        case .full: .full
        }
    }

    /// Sends again a packet of the layer that was left.
    mutating func resend(
        from former: borrowing PacketLog, into batch: inout DatagramBatch, at now: Instant
    ) -> MediaSender.Sending {
        sender.resend(from: former, through: &transport, into: &batch, at: now)
    }

    /// Sends again what may have been lost of a layer, where too much is lost to wait for who cannot ask (`MissingFeedbackDetector`).
    mutating func repeatUnreported(_ log: borrowing PacketLog, at now: Instant) {
        guard quality.repair.losesAnswers, !sender.isCongested,
            let span = quality.silence.takeUnreported(roundTrip: sender.roundTrip, at: now)
        else { return }
        sender.video?.pointee.stream.resend(arrivedIn: span, of: log, roundTrip: sender.roundTrip, at: now)
    }

    /// Goes on with what comes next, if the log has gone on past what was sent.
    mutating func catchUpSound(_ log: borrowing PacketLog) {
        guard let audio = sender.audio, audio.pointee.stream.hasFallenBehind(log) else { return }
        audio.pointee.stream.beginAtEnd(of: log)
    }

    /// Nothing is shown until a key frame comes.
    mutating func loseVideo(at now: Instant) {
        sender.video?.pointee.stream.pause()
        layers.lose(at: now)
    }

    /// Whether its link is full, and what comes next has waited too long for it.
    mutating func isSendQueueStale(_ log: borrowing PacketLog, at now: Instant) -> Bool {
        guard sender.isCongested, let since = sender.video?.pointee.stream.waiting(in: log)?.since else { return false }
        // Frames since an old key frame are late in any case, and slower on a full link.
        guard layers.backlog == .live else { return false }
        return CongestionPause.isDue(waiting: since, in: log, at: now)
    }

    /// Nothing is shown until its link is empty, and a key frame has come then.
    mutating func leaveOutVideo(at now: Instant) {
        loseVideo(at: now)
        drain = CongestionPause(since: now)
    }
}

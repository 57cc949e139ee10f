import PCastMedia
import PCastRTP
import PCastWebRTC

/// A viewer: how it is reached, and where it stands in the tracks of its stream.
struct Viewer: ~Copyable {
    let peer: PeerID
    let stream: Int
    var transport: SecureTransport
    var routes: PeerRoutes
    var sender: MediaSender

    var hasControl = false
    var isWatching = false
    var isAway = false
    var isEnding = false
    /// It waits for its turn among those that the pacer held back.
    var hasTurn = false
    var scheduled: Instant?

    /// A key frame that was in the log already may be shown to a joiner while it is younger than this (KEY2).
    static let replayAge = TimeSpan.milliseconds(500)

    init(
        peer: PeerID, stream: Int, transport: consuming SecureTransport, routes: PeerRoutes, sender: MediaSender
    ) {
        self.peer = peer
        self.stream = stream
        self.transport = transport
        self.routes = routes
        self.sender = sender
    }

    /// Answers the paths that mean nothing any more.
    mutating func rememberPath(_ path: NetworkPath) -> [NetworkPath] {
        routes.add(path: path)
        var routes = routes
        let stale = routes.takeStalePaths { transport.isValidated($0) }
        self.routes = routes
        return stale
    }

    var deadline: Instant? {
        let checks = transport.deadline
        return transport.canSend ? Instant.earlier(checks, sender.deadline) : checks
    }

    /// Whether anything but the pacer wants to go on now.
    func hasDeadline(at now: Instant) -> Bool {
        if let checks = transport.deadline, checks <= now { return true }
        guard transport.canSend, let deadline = sender.unpacedDeadline else { return false }
        return deadline <= now
    }

    /// Writes checks, handshakes and reports that are due; true when the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        return sender.pollReports(through: transport, into: &batch, wallTime: wallTime, at: now)
    }

    // MARK: Media

    /// Sends what there is of a track; true when the batch is full.
    ///
    /// - Parameter count: goes up by one for each packet.
    mutating func sendAll(
        _ track: borrowing PublishedTrack, into batch: inout DatagramBatch, count: inout Int, at now: Instant
    ) -> Bool {
        while true {
            switch sender.send(
                track.type, from: track.log, through: transport, into: &batch, capture: track.captureClock, at: now)
            {
            case .sent: count += 1
            case .idle, .paced: return false
            case .full: return true
            }
        }
    }

    /// Goes on with what comes next, if the log has gone on past what was sent.
    mutating func catchUpSound(_ log: borrowing PacketLog) {
        if sender.audio?.stream.hasFallenBehind(log) == true { sender.audio?.stream.beginAtEnd(of: log) }
    }

    /// Stops, if the log has gone on past what was sent; true when it did, and a key frame is needed.
    mutating func leavesOffVideo(_ log: borrowing PacketLog) -> Bool {
        guard sender.video?.stream.hasFallenBehind(log) == true else { return false }
        sender.video?.stream.pause()
        return true
    }

    /// Begins with the newest key frame if it is young enough, or else waits for the next.
    ///
    /// - Parameter acceptsAnyAge: the source cannot be asked for another one (KEY4).
    /// - Returns: whether it waits for a key frame.
    mutating func joinVideo(_ log: borrowing PacketLog, acceptsAnyAge: Bool, at now: Instant) -> Bool {
        guard sender.video?.stream.isPaused == true else { return false }
        guard let keyFrame = log.newestKeyFrame,
            acceptsAnyAge || now - log[keyFrame].arrival < Self.replayAge
        else { return true }
        sender.video!.stream.begin(at: keyFrame, in: log)
        return false
    }
}

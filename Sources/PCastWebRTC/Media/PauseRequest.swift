public import PCastMedia
public import PCastRTP

/// Whether a stream is wanted of its sender, and when to ask for a pause or for its end (RFC 7728).
///
/// A request is repeated until its effect is seen: packets stop, or come. The sender says in each of its reports that it
/// pauses, so that what is lost on either way is made up for.
public struct PauseRequest: Sendable {
    /// A stream that nobody takes is left running for so long: who reloads a page or comes back after a lost connection
    /// finds it as it was, and neither encoder nor camera goes off and on for those who look in for a moment.
    public static let patience = TimeSpan.seconds(2 as Int64)

    /// From one request to resume to the next, at least, beside a round trip: about a picture's interval.
    private static let pictureInterval = TimeSpan.milliseconds(50)
    /// From one request to pause to the next, at least; two round trips count where they are longer (section 8.1).
    private static let shortestPauseInterval = TimeSpan.milliseconds(100)
    /// So many requests go out quickly, the others as often as reports do (section 8.5).
    private static let quickRequests = 10
    private static let regularInterval = TimeSpan.seconds(1 as Int64)
    /// For so long a request is not repeated that was refused for what it asks (sections 8.1 and 8.3).
    private static let patienceAfterRefusedPause = TimeSpan.seconds(5 as Int64)
    private static let patienceAfterRefusedResume = TimeSpan.seconds(2 as Int64)
    /// Whatever the sender answers, requests are this far apart.
    private static let shortestInterval = TimeSpan.milliseconds(20)

    /// What is known of the sender.
    private enum Phase {
        /// It sends.
        case playing
        /// It was asked to pause, and has not said that it does.
        case pausing
        /// It said that it does.
        case paused
        /// It was to be asked to go on, and nothing came yet that was sent since.
        case resuming
    }

    private var phase = Phase.playing
    /// The current one, as far as known; a refusal tells it.
    private var pauseID: UInt16 = 0
    /// The number of the last packet before the pause, as the sender told it; nil when it told of none since it last
    /// played.
    public private(set) var lastSequenceNumber: UInt32?
    /// Before its first packet a stream is not paused, so that everyone can see that it works.
    private var hasStarted = false
    private var hasEnded = false
    private var requests = 0
    private var lastRequest: Instant?
    /// When packets mean that a request was lost, or what answers one to resume has come.
    private var effectExpected: Instant?

    public private(set) var isWanted = true

    /// When to ask; nil when there is nothing to ask.
    public private(set) var deadline: Instant?

    public init() {}

    /// Whether the sender was asked to pause and is not known to play again.
    public var isResting: Bool { phase != .playing }

    public mutating func setWanted(_ isWanted: Bool, at now: Instant) {
        guard self.isWanted != isWanted else { return }
        self.isWanted = isWanted
        guard !hasEnded else { return }
        if !isWanted {
            deadline = hasStarted ? now + Self.patience : nil
        } else if phase == .playing {
            deadline = nil
        } else {
            begin(.resuming, at: now)
        }
    }

    private mutating func begin(_ phase: Phase, at now: Instant) {
        self.phase = phase
        requests = 0
        effectExpected = nil
        deadline = soon(now)
    }

    private func soon(_ now: Instant) -> Instant { max(now, lastRequest.map { $0 + Self.shortestInterval } ?? now) }

    // MARK: Asking

    /// What to ask for now, if anything; counts as asked.
    ///
    /// - Parameter roundTrip: to the sender and back.
    public mutating func poll(ssrc: UInt32, roundTrip: TimeSpan, at now: Instant) -> PauseResume.Message? {
        guard let deadline, now >= deadline else { return nil }
        lastRequest = now
        requests += 1
        let isRegular = requests > Self.quickRequests
        if isWanted {
            effectExpected = effectExpected ?? now + roundTrip
            self.deadline = now + (isRegular ? Self.regularInterval : roundTrip + Self.pictureInterval)
            return PauseResume.Message(ssrc: ssrc, kind: .resume, pauseID: pauseID)
        }
        phase = .pausing
        // Packets bring the next request forth, and none is needed when they stop.
        self.deadline = nil
        effectExpected =
            now + (isRegular ? Self.regularInterval : max(roundTrip * 2, Self.shortestPauseInterval))
        return PauseResume.Message(ssrc: ssrc, kind: .pause, pauseID: pauseID)
    }

    /// Whether the request to resume that `poll` gave was the first of its kind.
    public var isFirstRequest: Bool { requests == 1 }

    // MARK: What is seen

    /// A packet of the stream came; a retransmission is none.
    public mutating func packetReceived(sequenceNumber: UInt16, at now: Instant) {
        if !hasStarted { start(at: now) }
        guard phase != .playing, !hasEnded, isSincePause(sequenceNumber) else { return }
        switch phase {
        case .playing: break
        case .resuming:
            // Where the sender did not say how far it came, what is still under way proves nothing for a round trip.
            guard lastSequenceNumber != nil || effectExpected.map({ now >= $0 }) ?? false else { return }
            notePlaying()
            if isWanted { deadline = nil }
        case .pausing:
            if deadline == nil, effectExpected.map({ now >= $0 }) ?? true { deadline = now }
        case .paused:
            // It plays for reasons of its own.
            notePlaying()
            begin(.pausing, at: now)
        }
    }

    private mutating func start(at now: Instant) {
        hasStarted = true
        if !isWanted, phase == .playing, !hasEnded { deadline = now + Self.patience }
    }

    private func isSincePause(_ sequenceNumber: UInt16) -> Bool {
        guard let last = lastSequenceNumber else { return true }
        return Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: last)) > 0
    }

    private mutating func notePlaying() {
        // Each pause that took place uses up a number (section 6.1).
        if lastSequenceNumber != nil { pauseID &+= 1 }
        lastSequenceNumber = nil
        phase = .playing
        requests = 0
    }

    /// The sender said something about the stream.
    ///
    /// - Parameter newest: the stream's newest packet that came.
    public mutating func messageReceived(_ message: PauseResume.Message, newest: UInt16?, at now: Instant) {
        guard !hasEnded else { return }
        switch message.kind {
        case .pause, .resume: break
        case .paused(let last): pausedReceived(message.pauseID, last, newest: newest, at: now)
        case .refused: refusedReceived(message.pauseID, at: now)
        }
    }

    private mutating func pausedReceived(_ pauseID: UInt16, _ last: UInt32, newest: UInt16?, at now: Instant) {
        // Packets sent since have overtaken it.
        if let newest, Int16(bitPattern: newest &- UInt16(truncatingIfNeeded: last)) > 0 { return }
        let isKnown = pauseID == self.pauseID
        self.pauseID = pauseID
        lastSequenceNumber = last
        hasStarted = true
        if !isWanted {
            phase = .paused
            deadline = nil
        } else if phase != .resuming || !isKnown {
            begin(.resuming, at: now)
        }
    }

    private mutating func refusedReceived(_ pauseID: UInt16, at now: Instant) {
        let isAsking = phase == .pausing || phase == .resuming
        if pauseID != self.pauseID {
            self.pauseID = pauseID
            lastSequenceNumber = nil
            if isAsking { begin(phase, at: now) }
        } else if isAsking {
            deadline = now + (isWanted ? Self.patienceAfterRefusedResume : Self.patienceAfterRefusedPause)
        }
    }

    /// The stream's source said goodbye: it is asked for nothing any more (section 6.3.1).
    public mutating func goodbyeReceived() {
        hasEnded = true
        deadline = nil
    }

    /// Another source took the stream over, or the same began anew; it plays, and its pauses are counted from zero.
    public mutating func restart(at now: Instant) {
        let isWanted = isWanted
        self = PauseRequest()
        self.isWanted = isWanted
        start(at: now)
    }
}

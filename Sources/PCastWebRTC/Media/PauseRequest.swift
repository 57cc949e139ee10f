package import PCastCore
package import PCastRTP

/// Schedules the requests to the sender of a stream to pause and resume (RFC 7728).
///
/// A request is repeated until it has an effect: packets stop or arrive. The sender repeats its paused state with each
/// report, so that the loss of messages in either direction has no lasting effect.
package struct PauseRequest: Sendable {
    /// The time without a subscriber after which a pause is requested. A viewer that reloads a page or reconnects finds
    /// the stream running, and encoder and camera are not switched for short visits.
    package static let timeout = TimeSpan.seconds(2 as Int64)

    /// The minimum time between requests to resume, to which the round-trip time is added; about the interval of a
    /// frame.
    private static let frameInterval = TimeSpan.milliseconds(50)
    /// The minimum time between requests to pause; it is two round-trip times if these are longer (RFC 7728, section
    /// 8.1).
    private static let shortestPauseInterval = TimeSpan.milliseconds(100)
    /// The number of requests at short intervals, after which they are as frequent as reports (RFC 7728, section 8.5).
    private static let quickRequests = 10
    private static let regularInterval = TimeSpan.seconds(1 as Int64)
    /// The time after a refused request before it is repeated (RFC 7728, sections 8.1 and 8.3).
    private static let timeoutAfterRefusedPause = TimeSpan.seconds(5 as Int64)
    private static let timeoutAfterRefusedResume = TimeSpan.seconds(2 as Int64)
    /// The minimum time between any two requests.
    private static let shortestInterval = TimeSpan.milliseconds(20)

    /// The known state of the sender.
    private enum Phase {
        /// It sends packets.
        case playing
        /// It was asked to pause, but has not reported that it did.
        case pausing
        /// It has reported that it paused.
        case paused
        /// It must resume, and no packet has arrived that was sent since.
        case resuming
    }

    private var phase = Phase.playing
    /// The current PauseID, as far as known; a REFUSED message contains it.
    private var pauseID: UInt16 = 0
    /// The sequence number of the last packet before the pause, which the sender reported; nil if it has not reported a
    /// pause since it last sent.
    package private(set) var lastSequenceNumber: UInt32?
    /// Whether a packet has arrived. Before the first one a stream is not paused, so that the publisher can see that it
    /// works.
    private var hasStarted = false
    private var hasEnded = false
    /// The number of requests of the current kind.
    private var requests = 0
    private var lastRequest: Instant?
    /// The time after which arriving packets show that a request to pause was lost or a request to resume had its
    /// effect.
    private var effectExpected: Instant?

    /// Whether the stream has a subscriber.
    package private(set) var isWanted = true

    /// The time of the next request; nil if none is scheduled.
    package private(set) var deadline: Instant?

    /// Creates the state of a stream that is wanted and sent.
    package init() {}

    /// Whether the sender was asked to pause and has not resumed.
    package var isPaused: Bool { phase != .playing }

    /// Sets whether the stream has a subscriber. A pause is requested only after ``timeout``.
    package mutating func setDemanded(_ isWanted: Bool, at now: Instant) {
        guard self.isWanted != isWanted else { return }
        self.isWanted = isWanted
        guard !hasEnded else { return }
        if !isWanted {
            deadline = hasStarted ? now + Self.timeout : nil
        } else if phase == .playing {
            deadline = nil
        } else {
            begin(.resuming, at: now)
        }
    }

    /// Begins requests of another kind.
    private mutating func begin(_ phase: Phase, at now: Instant) {
        self.phase = phase
        requests = 0
        effectExpected = nil
        deadline = earliestRequestTime(now)
    }

    /// Returns the earliest time of another request.
    private func earliestRequestTime(_ now: Instant) -> Instant {
        max(now, lastRequest.map { $0 + Self.shortestInterval } ?? now)
    }

    // MARK: Requests

    /// Returns the request to send now, and counts it; nil if none is due.
    ///
    /// - Parameters:
    ///   - ssrc: The SSRC of the stream.
    ///   - roundTrip: The round-trip time to the sender.
    ///   - now: The current time.
    /// - Returns: The message.
    package mutating func poll(ssrc: UInt32, roundTrip: TimeSpan, at now: Instant) -> PauseResume.Message? {
        guard let deadline, now >= deadline else { return nil }
        lastRequest = now
        requests += 1
        let isRegular = requests > Self.quickRequests
        if isWanted {
            effectExpected = effectExpected ?? now + roundTrip
            self.deadline = now + (isRegular ? Self.regularInterval : roundTrip + Self.frameInterval)
            return PauseResume.Message(ssrc: ssrc, kind: .resume, pauseID: pauseID)
        }
        phase = .pausing
        // Arriving packets cause the next request, and none is needed if they stop.
        self.deadline = nil
        effectExpected =
            now + (isRegular ? Self.regularInterval : max(roundTrip * 2, Self.shortestPauseInterval))
        return PauseResume.Message(ssrc: ssrc, kind: .pause, pauseID: pauseID)
    }

    /// Whether the last request was the first of its kind.
    package var isFirstRequest: Bool { requests == 1 }

    // MARK: Observations

    /// Records a packet of the stream that is not a retransmission.
    package mutating func packetReceived(sequenceNumber: UInt16, at now: Instant) {
        if !hasStarted { start(at: now) }
        guard phase != .playing, !hasEnded, isSincePause(sequenceNumber) else { return }
        switch phase {
        case .playing: break
        case .resuming:
            // If the sender has not reported its last packet, packets within a round-trip time may have been sent
            // before it resumed.
            guard lastSequenceNumber != nil || effectExpected.map({ now >= $0 }) ?? false else { return }
            notePlaying()
            if isWanted { deadline = nil }
        case .pausing:
            if deadline == nil, effectExpected.map({ now >= $0 }) ?? true { deadline = now }
        case .paused:
            // The sender has resumed by itself.
            notePlaying()
            begin(.pausing, at: now)
        }
    }

    /// Records that the stream has started.
    private mutating func start(at now: Instant) {
        hasStarted = true
        if !isWanted, phase == .playing, !hasEnded { deadline = now + Self.timeout }
    }

    /// Returns whether a packet was sent after the pause that the sender reported.
    private func isSincePause(_ sequenceNumber: UInt16) -> Bool {
        guard let last = lastSequenceNumber else { return true }
        return Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: last)) > 0
    }

    /// Records that the sender has resumed.
    private mutating func notePlaying() {
        // Each pause that took effect uses one PauseID (RFC 7728, section 6.1).
        if lastSequenceNumber != nil { pauseID &+= 1 }
        lastSequenceNumber = nil
        phase = .playing
        requests = 0
    }

    /// Processes a message of the sender about the stream.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - newest: The sequence number of the stream's newest packet; nil before the first.
    ///   - now: The current time.
    package mutating func messageReceived(_ message: PauseResume.Message, newest: UInt16?, at now: Instant) {
        guard !hasEnded else { return }
        switch message.kind {
        case .pause, .resume: break
        case .paused(let last): pausedReceived(message.pauseID, last, newest: newest, at: now)
        case .refused: refusedReceived(message.pauseID, at: now)
        }
    }

    private mutating func pausedReceived(_ pauseID: UInt16, _ last: UInt32, newest: UInt16?, at now: Instant) {
        // Packets that were sent later have arrived before the message.
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

    /// Processes a REFUSED message, which contains the current PauseID.
    private mutating func refusedReceived(_ pauseID: UInt16, at now: Instant) {
        let isAsking = phase == .pausing || phase == .resuming
        if pauseID != self.pauseID {
            self.pauseID = pauseID
            lastSequenceNumber = nil
            if isAsking { begin(phase, at: now) }
        } else if isAsking {
            deadline = now + (isWanted ? Self.timeoutAfterRefusedResume : Self.timeoutAfterRefusedPause)
        }
    }

    /// Ends all requests, because the source has sent BYE (RFC 7728, section 6.3.1).
    package mutating func goodbyeReceived() {
        hasEnded = true
        deadline = nil
    }

    /// Resets the state for a new source or a restart of the source. It sends, and its PauseIDs begin with zero.
    package mutating func restart(at now: Instant) {
        let isWanted = isWanted
        self = PauseRequest()
        self.isWanted = isWanted
        start(at: now)
    }
}

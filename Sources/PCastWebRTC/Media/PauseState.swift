import PCastCore
import PCastRTP

/// The state of a sent stream whose receiver may pause it (RFC 7728, section 6).
///
/// The paused state is repeated in each report, not only in the first two, so that it reaches the receiver even if
/// messages are lost.
///
/// A silent receiver is not considered gone as in section 6.3.2, which concerns several receivers. There is only one
/// here, and the connection ends with it.
struct PauseState: Sendable {
    private enum Phase: Equatable {
        case playing
        /// The pause is executed at `until`, unless another receiver objects.
        case pausing(until: Instant)
        case paused
    }

    let type: MediaType
    let layer: Int
    let ssrc: UInt32
    /// Whether objections of other receivers must be awaited, because `nowait` was not negotiated.
    private let holdsOff: Bool

    private var phase = Phase.playing
    private var pauseID: UInt16 = 0
    /// The SSRC of the receiver that requested the pause.
    private var asker: UInt32?
    /// The time of the next PAUSED message; nil if none is scheduled.
    private var nextIndication: Instant?
    /// The time of the next REFUSED message; nil if none is scheduled.
    private var nextRefusal: Instant?
    private var lastRefusal: (pauseID: UInt16, instant: Instant)?

    /// The interval of repeated messages, which is that of reports.
    private static let regularInterval = TimeSpan.seconds(1 as Int64)

    init(type: MediaType, layer: Int = 0, ssrc: UInt32, holdsOff: Bool) {
        self.type = type
        self.layer = layer
        self.ssrc = ssrc
        self.holdsOff = holdsOff
    }

    /// Whether the stream is paused.
    var isPaused: Bool { phase == .paused }

    // MARK: Requests

    /// Processes a request for this stream; ``isPaused`` shows the result.
    mutating func receive(_ message: PauseResume.Message, from sender: UInt32, roundTrip: TimeSpan, at now: Instant) {
        let isCurrent = message.pauseID == pauseID
        switch message.kind {
        case .pause where isCurrent:
            guard phase == .playing else { return }
            asker = sender
            if holdsOff { phase = .pausing(until: now + roundTrip * 2) } else { pause(at: now) }
        case .resume where isCurrent:
            if phase != .playing { resume() }
        case .resume where phase == .playing && isPast(message.pauseID): break
        case .pause, .resume: refuse(at: now)
        case .paused, .refused: break
        }
    }

    /// Returns whether a PauseID is one of the half of all numbers that precede the current one (RFC 7728, section 8).
    private func isPast(_ other: UInt16) -> Bool { (1...0x8000).contains(pauseID &- other) }

    private mutating func pause(at now: Instant) {
        phase = .paused
        nextIndication = now
    }

    /// Ends a pause; the next one has another PauseID.
    private mutating func resume() {
        phase = .playing
        pauseID &+= 1
        asker = nil
        nextIndication = nil
    }

    /// Schedules a REFUSED message: the first one at once, and repetitions as often as reports (RFC 7728, section 8.5).
    private mutating func refuse(at now: Instant) {
        guard nextRefusal == nil else { return }
        nextRefusal = now
        if let lastRefusal, lastRefusal.pauseID == pauseID {
            nextRefusal = max(now, lastRefusal.instant + Self.regularInterval)
        }
    }

    /// Resumes the stream if the receiver that requested the pause has sent BYE (RFC 7728, section 6.3.1).
    mutating func goodbyeReceived(from sender: UInt32) {
        if asker == sender, phase != .playing { resume() }
    }

    // MARK: Time and output

    /// The time at which ``advance(to:)`` or ``poll(lastSequenceNumber:hasReport:at:)`` must be called; nil if nothing
    /// is scheduled.
    var deadline: Instant? {
        var deadline = Instant.earlier(nextIndication, nextRefusal)
        if case .pausing(let end) = phase { deadline = Instant.earlier(deadline, end) }
        return deadline
    }

    /// Executes a pause to which nobody has objected.
    mutating func advance(to now: Instant) {
        if case .pausing(let end) = phase, now >= end { pause(at: now) }
    }

    /// Returns the message to send now; nil if none is due.
    ///
    /// - Parameters:
    ///   - lastSequenceNumber: The sequence number of the last packet that was sent.
    ///   - hasReport: Whether a report of the stream is sent with the message.
    ///   - now: The current time.
    /// - Returns: The message.
    mutating func poll(
        lastSequenceNumber: UInt32, hasReport: Bool, at now: Instant
    ) -> PauseResume.Message? {
        if let nextRefusal, now >= nextRefusal {
            self.nextRefusal = nil
            lastRefusal = (pauseID, now)
            return PauseResume.Message(ssrc: ssrc, kind: .refused, pauseID: pauseID)
        }
        // The PAUSED message is sent early if a report is sent anyway.
        if let nextIndication, now >= (hasReport ? nextIndication - Self.regularInterval / 2 : nextIndication) {
            self.nextIndication = now + Self.regularInterval
            return PauseResume.Message(
                ssrc: ssrc, kind: .paused(lastSequenceNumber: lastSequenceNumber), pauseID: pauseID)
        }
        return nil
    }
}

import PCastMedia
import PCastRTP

/// What becomes of a stream that is sent, when its receiver asks for pauses (RFC 7728, section 6).
///
/// A pause that lasts is told in every report, not in the first two alone: where the network lost the first ones, or the
/// receiver forgot, it knows a second later what it may ask for.
///
/// A receiver that has been silent for long is not taken for gone, as section 6.3.2 has it, for the sake of others that
/// may listen: there is one receiver, and with it the call ends.
struct PauseState: Sendable {
    private enum Phase: Equatable {
        case playing
        /// Others may still object.
        case pausing(until: Instant)
        case paused
    }

    let type: MediaType
    let layer: Int
    let ssrc: UInt32
    /// Whether others have to be waited for (`nowait` was not agreed on).
    private let holdsOff: Bool

    private var phase = Phase.playing
    private var pauseID: UInt16 = 0
    /// Who asked for the pause.
    private var asker: UInt32?
    private var nextIndication: Instant?
    private var nextRefusal: Instant?
    private var lastRefusal: (pauseID: UInt16, instant: Instant)?

    /// As often as reports are sent.
    private static let regularInterval = TimeSpan.seconds(1 as Int64)

    init(type: MediaType, layer: Int = 0, ssrc: UInt32, holdsOff: Bool) {
        self.type = type
        self.layer = layer
        self.ssrc = ssrc
        self.holdsOff = holdsOff
    }

    var isPaused: Bool { phase == .paused }

    // MARK: Requests

    /// Heeds a request about this stream; `isPaused` tells what came of it.
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

    /// Half of the numbers come before the current one (section 8).
    private func isPast(_ other: UInt16) -> Bool { (1...0x8000).contains(pauseID &- other) }

    private mutating func pause(at now: Instant) {
        phase = .paused
        nextIndication = now
    }

    private mutating func resume() {
        phase = .playing
        pauseID &+= 1
        asker = nil
        nextIndication = nil
    }

    /// The first refusal of its kind goes at once, further ones as often as reports (section 8.5).
    private mutating func refuse(at now: Instant) {
        guard nextRefusal == nil else { return }
        nextRefusal = now
        if let lastRefusal, lastRefusal.pauseID == pauseID {
            nextRefusal = max(now, lastRefusal.instant + Self.regularInterval)
        }
    }

    /// Whoever asked for the pause leaves, and with it the reason (section 6.3.1).
    mutating func goodbyeReceived(from sender: UInt32) {
        if asker == sender, phase != .playing { resume() }
    }

    // MARK: Time and output

    var deadline: Instant? {
        var deadline = Instant.earlier(nextIndication, nextRefusal)
        if case .pausing(let end) = phase { deadline = Instant.earlier(deadline, end) }
        return deadline
    }

    mutating func advance(to now: Instant) {
        if case .pausing(let end) = phase, now >= end { pause(at: now) }
    }

    /// What is to be said now; nil when nothing is.
    ///
    /// - Parameter hasReport: a report of the stream goes with it.
    mutating func poll(
        lastSequenceNumber: UInt32, hasReport: Bool, at now: Instant
    ) -> PauseResume.Message? {
        if let nextRefusal, now >= nextRefusal {
            self.nextRefusal = nil
            lastRefusal = (pauseID, now)
            return PauseResume.Message(ssrc: ssrc, kind: .refused, pauseID: pauseID)
        }
        // A report that is sent anyway takes the next indication along.
        if let nextIndication, now >= (hasReport ? nextIndication - Self.regularInterval / 2 : nextIndication) {
            self.nextIndication = now + Self.regularInterval
            return PauseResume.Message(
                ssrc: ssrc, kind: .paused(lastSequenceNumber: lastSequenceNumber), pauseID: pauseID)
        }
        return nil
    }
}

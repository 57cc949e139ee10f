package import PCastCore

/// Follows a log and a playhead, and returns the deliveries that are due. Nothing is delivered before its time.
package struct TimelineCursor: Sendable {
    /// The log so far.
    package private(set) var log: TimelineLog
    /// The revisions that were delivered.
    package private(set) var shown = DeliveredRevisions()
    /// The present position of the viewer.
    package private(set) var moment: TimelinePosition
    /// Whether each revision is delivered as soon as it is known.
    package let isUngated: Bool
    private let limits: TimelineLimits
    /// Whether revisions were added that have not been delivered yet.
    private var isBehind = false

    /// Creates a cursor with an empty log. With `spoiler`, each revision is delivered as soon as it is known.
    package init(spoiler: Bool = false, within limits: TimelineLimits = .standard) {
        (isUngated, self.limits) = (spoiler, limits)
        log = TimelineLog(within: limits)
        moment = spoiler ? .ungated : .unknown
        due = nil
    }

    /// The next time of the program at which a delivery is due; nil if there is none.
    package private(set) var due: WallTime?

    /// Moves to the time of the frame that is shown; nil if the time is unknown. Returns the deliveries that are due.
    package mutating func move(to timecode: WallTime?) -> [TimelineDelivery] {
        guard !isUngated else { return [] }
        let next = timecode.map { TimelinePosition.at($0) } ?? .unknown
        // At most frames, no delivery is due.
        if !isBehind, next >= moment, moment != .unknown, due.map({ !next.hasReached($0) }) ?? true {
            moment = next
            return []
        }
        guard isBehind || next != moment else { return [] }
        moment = next
        return update()
    }

    /// Adds revisions of the feed in order, and returns the deliveries that are due.
    ///
    /// - Parameters:
    ///   - revisions: The revisions. Those that are already in the log are ignored.
    ///   - isHolding: Whether deliveries wait for the next frame, because the present frame is unknown. An ungated
    ///     cursor does not wait.
    /// - Returns: The deliveries.
    /// - Throws: ``TimelineError/gap(expected:got:)`` if a revision is missing, ``TimelineError/full(limit:)`` if there
    ///   is no space, and ``TimelineError/tooLarge(limit:)`` for a revision that is too large. Earlier revisions of the
    ///   call stay in the log.
    package mutating func take(
        _ revisions: some Sequence<TimelineRevision>, holding isHolding: Bool = false
    ) throws(TimelineError) -> [TimelineDelivery] {
        for revision in revisions { try log.append(revision) }
        guard !isHolding || isUngated else {
            isBehind = true
            return []
        }
        return update()
    }

    /// Begins with another log. Returns the deliveries that withdraw everything that was delivered.
    package mutating func startOver() -> [TimelineDelivery] {
        let deliveries = TimelineGate.deliveries(from: shown, to: DeliveredRevisions(), of: log, at: .unknown)
        (log, shown, due, isBehind) = (TimelineLog(within: limits), DeliveredRevisions(), nil, false)
        return deliveries
    }

    /// Returns the deliveries for the present log and position.
    private mutating func update() -> [TimelineDelivery] {
        isBehind = false
        let next = TimelineGate.shown(of: log, at: moment)
        let deliveries = TimelineGate.deliveries(from: shown, to: next, of: log, at: moment)
        shown = next
        if case .at(let moment) = moment { due = log.firstGate(after: moment) } else { due = nil }
        return deliveries
    }
}

public import PCastCore

/// Determines the revisions that may be delivered at a position of the program. The result depends only on the log and
/// the position, not on how the viewer got there.
///
/// A revision applies from its gate on (``TimelineLog/gate(of:)``). The newest applicable revision of an event
/// describes it. An event appears with its own frame, even if the feed was late, and a correction appears at the time
/// of its recording. A later viewer sees the correction at the same frame as a live viewer. The first description of
/// the game applies from the beginning, because it only says who plays.
package enum TimelineGate {
    /// Returns the revisions that apply at a position.
    package static func shown(of log: TimelineLog, at moment: TimelinePosition) -> DeliveredRevisions {
        var shown = DeliveredRevisions()
        guard moment != .unknown else { return shown }
        let info = log.infos.last { moment.hasReached(log.gates[$0]) } ?? log.infos.first
        shown.info = info.map { log.revisions[$0].number }
        for (id, indices) in log.history {
            guard let index = indices.last(where: { moment.hasReached(log.gates[$0]) }),
                log.revisions[index].event != nil
            else { continue }
            shown.events[id] = log.revisions[index].number
        }
        return shown
    }

    /// Returns the deliveries for a viewer who moves from one set of revisions to another. The first ones withdraw
    /// revisions, the newest first. The others add revisions in the order of their gates.
    ///
    /// - Parameters:
    ///   - before: The revisions that were delivered.
    ///   - shown: The revisions that apply at the position.
    ///   - log: The log.
    ///   - moment: The position.
    /// - Returns: The deliveries in order.
    package static func deliveries(
        from before: DeliveredRevisions, to shown: DeliveredRevisions, of log: TimelineLog, at moment: TimelinePosition
    ) -> [TimelineDelivery] {
        func delivery(
            _ subject: TimelineDelivery.Subject, _ type: TimelineChangeType, _ revision: TimelineRevision,
            _ reason: TimelineDelivery.Reason?
        ) -> TimelineDelivery {
            TimelineDelivery(
                subject: subject, type: type, reason: reason, number: revision.number, at: revision.at,
                gate: log.gate(of: revision.number) ?? revision.at)
        }
        var back: [TimelineDelivery] = []
        var ahead: [TimelineDelivery] = []
        if let number = shown.info, number != before.info, let revision = log[number], let info = revision.info {
            let isBack = before.info.map { number < $0 } ?? false
            ahead.append(delivery(.info(info), .unknown, revision, isBack ? .seek : nil))
        }
        for (id, old) in before.events where shown.events[id] != old {
            guard let oldRevision = log[old], let event = oldRevision.event else { continue }
            if let number = shown.events[id] {
                guard let revision = log[number], let event = revision.event else { continue }
                let isBack = number < old
                let next = delivery(.event(id, event), .modified, revision, isBack ? .seek : nil)
                if isBack { back.append(next) } else { ahead.append(next) }
            } else if let withdrawal = withdrawal(of: id, in: log, at: moment) {
                ahead.append(delivery(.event(id, event), .deleted, withdrawal, nil))
            } else {
                back.append(delivery(.event(id, event), .deleted, oldRevision, .seek))
            }
        }
        for (id, number) in shown.events where before.events[id] == nil {
            guard let revision = log[number], let event = revision.event else { continue }
            ahead.append(delivery(.event(id, event), .added, revision, nil))
        }
        return back.sorted { ($0.gate, $0.number) > ($1.gate, $1.number) }
            + ahead.sorted { ($0.gate, $0.number) < ($1.gate, $1.number) }
    }

    /// Returns the revision that has withdrawn the event at the position; nil if the event only does not apply yet.
    private static func withdrawal(
        of id: TimelineEventID, in log: TimelineLog, at moment: TimelinePosition
    ) -> TimelineRevision? {
        log.history[id]?.last { moment.hasReached(log.gates[$0]) }.map { log.revisions[$0] }
    }
}

/// The revisions that were delivered to a viewer.
package struct DeliveredRevisions: Hashable, Sendable {
    /// The revision of the game's description; nil if none was delivered.
    package internal(set) var info: SequenceNumber?
    /// The revision of each event.
    package internal(set) var events: [TimelineEventID: SequenceNumber] = [:]

    /// Creates an empty set.
    package init() {}
}

/// The position of a viewer in the program, up to which revisions may be delivered.
package enum TimelinePosition: Hashable, Sendable {
    /// The position is unknown. Nothing may be delivered.
    case unknown
    /// The viewer sees the frame of this time.
    case at(WallTime)
    /// There is no gate. Each revision is delivered as soon as it is known.
    case ungated

    /// Returns whether the position is at or after a gate.
    func hasReached(_ gate: WallTime) -> Bool {
        switch self {
        case .unknown: false
        case .at(let moment): moment >= gate
        case .ungated: true
        }
    }
}

extension TimelinePosition: Comparable {
    /// Returns whether the left position is before the right one.
    package static func < (left: TimelinePosition, right: TimelinePosition) -> Bool {
        switch (left, right) {
        case (.at(let left), .at(let right)): left < right
        case (.unknown, .unknown), (.ungated, _): false
        case (.unknown, _), (_, .ungated): true
        case (_, .unknown): false
        }
    }
}

/// A notification of a viewer: an event or description is added, modified or deleted.
public struct TimelineDelivery: Hashable, Sendable {
    /// The subject of a delivery.
    public enum Subject: Hashable, Sendable {
        /// The description of the game.
        case info(GameInfo)
        /// The event as it is now, or as it was last delivered if it is deleted.
        case event(TimelineEventID, GameEvent)
    }

    /// The reason for a delivery that the feed did not cause.
    public enum Reason: String, Hashable, Sendable {
        /// The viewer has sought back to before the revision was known.
        case seek
    }

    /// The subject of the delivery.
    public var subject: Subject
    /// The change of the subject.
    public var type: TimelineChangeType
    /// The reason; nil for a delivery in the order of the game.
    public var reason: Reason?
    /// The number of the revision that is delivered, or that a seek withdraws.
    public var number: SequenceNumber
    /// The time at which the event happened.
    public var at: WallTime
    /// The time of the program from which the revision may be delivered.
    public var gate: WallTime

    /// The event; nil for a description of the game.
    public var event: GameEvent? { if case .event(_, let event) = subject { event } else { nil } }

    /// The ID of the event; nil for a description of the game.
    public var eventID: TimelineEventID? { if case .event(let id, _) = subject { id } else { nil } }

    /// The description of the game; nil for an event.
    public var info: GameInfo? { if case .info(let info) = subject { info } else { nil } }
}

/// The change of an event (Quickplay: `ChangeType`, with the same words).
public enum TimelineChangeType: String, Hashable, Sendable, CaseIterable {
    /// The event is new.
    case added
    /// The event has changed.
    case modified
    /// The event was withdrawn.
    case deleted
    /// The change is of the description of the game, which has no type.
    case unknown
}

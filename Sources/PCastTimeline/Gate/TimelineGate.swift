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
        guard moment != .nowhere else { return shown }
        let info = log.infos.last { moment.hasReached(log.gates[$0]) } ?? log.infos.first
        shown.info = info.map { log.revisions[$0].number }
        for (id, places) in log.history {
            guard let place = places.last(where: { moment.hasReached(log.gates[$0]) }),
                log.revisions[place].event != nil
            else { continue }
            shown.events[id] = log.revisions[place].number
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

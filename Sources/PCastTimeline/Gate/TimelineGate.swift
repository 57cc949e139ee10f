/// What may be known at a moment of the programme: a function of the log and that moment, and of nothing else. However a
/// viewer came there, the same is shown.
///
/// A revision counts from its gate on (``TimelineLog/gate(of:)``), and of those of an event that count, the newest says how it
/// is. An event appears with its own picture, also when its feed was late, and a correction when it was recorded: a viewer
/// who watches later sees it at the picture at which a live viewer saw it. The first description of the game is known
/// from the beginning: it says who plays, and nothing of what happens.
public enum TimelineGate {
    public static func shown(of log: TimelineLog, at moment: TimelineMoment) -> TimelineShown {
        var shown = TimelineShown()
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

    /// What has to be told to who knew `before`, so that he knows what may be known at `moment`: first what is taken back, the
    /// newest first; then what is new, in the order in which it could be known.
    ///
    /// - Parameter shown: what may be known then.
    public static func deliveries(
        from before: TimelineShown, to shown: TimelineShown, of log: TimelineLog, at moment: TimelineMoment
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
                let told = delivery(.event(id, event), .modified, revision, isBack ? .seek : nil)
                if isBack { back.append(told) } else { ahead.append(told) }
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

    /// The revision by which an event is not there any more at that moment; nil where it only is not there yet.
    private static func withdrawal(
        of id: TimelineEventID, in log: TimelineLog, at moment: TimelineMoment
    ) -> TimelineRevision? {
        log.history[id]?.last { moment.hasReached(log.gates[$0]) }.map { log.revisions[$0] }
    }
}

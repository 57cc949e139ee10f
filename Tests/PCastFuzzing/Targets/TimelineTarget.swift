import PCastCore
import PCastJSON
import PCastTimeline

/// The input of producers and of the timeline service: an event, the description of a game, a log line, a message.
enum TimelineTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var isRead = false
        if let event = try? GameEvent(parsing: bytes) {
            isRead = true
            try checkEvent(event, bytes.count)
        }
        if let info = try? GameInfo(parsing: bytes) {
            isRead = true
            try check((try? GameInfo(parsing: info.object.bytes)) == info, "a game that changed")
            _ = (info.teams?.first?.players?.first?.name, info.moment)
        }
        if let revision = try? TimelineRevision(parsing: bytes) {
            isRead = true
            try check((try? TimelineRevision(parsing: revision.bytes)) == revision, "a revision that changed")
            var log = TimelineLog()
            let isNext = (try? log.append(revision)) ?? false
            try check(isNext == (revision.number == SequenceNumber(1)), "a gap that was not seen")
        }
        if let message = try? TimelineMessage(parsing: bytes) {
            isRead = true
            try check((try? TimelineMessage(parsing: message.bytes)) == message, "a message that changed")
        }
        return isRead
    }

    private static func checkEvent(_ event: GameEvent, _ size: Int) throws(BrokenInvariant) {
        let written = event.object.bytes
        try check(written.count <= 6 * size + 64, "\(written.count) bytes of text from \(size)")
        try check((try? GameEvent(parsing: written)) == event, "an event that changed")
        guard let id = try? TimelineEventID("e"), event.id ?? "e" == "e" else { return }
        let now = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        var log = TimelineLog()
        do {
            guard let revision = try log.revision(for: TimelineRequest(.put(id, event)), at: now) else {
                throw BrokenInvariant(description: "a first event that changes nothing")
            }
            try log.append(revision)
        } catch let error as BrokenInvariant {
            throw error
        } catch {
            throw BrokenInvariant(description: "an event that was read, and not taken: \(error)")
        }
        try check(log.event(id)?.id == "e", "an event without its id")
        try check(TimelineGate.shown(of: log, at: .everything).events[id] == SequenceNumber(1), "an event not shown")
        try check(
            TimelineGate.shown(of: log, at: .at(now - .milliseconds(1))).events.isEmpty, "an event before its time")
    }

    static let corpus: [[UInt8]] = [
        #"{"id":"e","type":"goal","timestamp":"2026-11-21T18:30:00.125Z","teamInvolved":"home","players":"#
            + #"[{"id":"8","name":"A. Scorer","type":"scorer"}],"scorecard":{"total":{"visitor":"1","home":"2"},"#
            + #""goals_by_period":[{"visitor":"1","home":"2","period":"1"}]},"other":[1,-2.50e3,null,true]}"#,
        #"{"id":"2354717","teams":[{"code":"BOS","type":"home","images":["https://a.example/b.png"],"players":"#
            + #"[{"name":"\u00e9\ud83d\ude00","number":"8"}]}],"venue_id":"1"}"#,
        #"{"seq":1,"at":1790000000000,"recordedAt":1790000001000,"change":"added","id":"e","event":{"type":"goal"}}"#,
        #"{"type":"changes","changes":[{"seq":1,"at":0,"recordedAt":-1,"change":"deleted","id":"e"}]}"#,
        #"{"type":"begin","log":"a","newest":3,"from":0}"#,
    ].map { Array($0.utf8) }
}

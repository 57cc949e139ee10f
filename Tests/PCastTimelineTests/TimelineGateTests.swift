import PCastCore
import PCastTestSupport
import PCastTimeline
import Testing

/// Returns a time in milliseconds of the program.
func moment(_ milliseconds: Int64) -> WallTime { WallTime(millisecondsSinceEpoch: milliseconds) }

/// A log that producers' requests create.
struct ScriptedLog {
    private(set) var log = TimelineLog()

    mutating func put(_ id: String, at: Int64, recorded: Int64, _ text: String = "") throws {
        var event = GameEvent()
        event.timestamp = Timestamp.text(moment(at))
        event.description = text
        try record(.put(try TimelineEventID(id), event), recorded)
    }

    mutating func delete(_ id: String, recorded: Int64) throws {
        try record(.delete(try TimelineEventID(id)), recorded)
    }

    mutating func describe(_ venue: String, recorded: Int64) throws {
        var info = GameInfo()
        info.venueName = venue
        try record(.info(info), recorded)
    }

    private mutating func record(_ change: TimelineRequest.Change, _ recorded: Int64) throws {
        let revision = try log.revision(for: TimelineRequest(change), at: moment(recorded))
        try log.append(try #require(revision))
    }
}

extension TimelineDelivery {
    /// A text such as `modified goal corrected (seek)`.
    var line: String {
        let what = eventID.map { "\($0)" } ?? "game"
        let text = event?.description ?? info?.venueName ?? ""
        return "\(type) \(what)\(text.isEmpty ? "" : " \(text)")\(reason.map { " (\($0))" } ?? "")"
    }
}

@Suite("The gate of a timeline")
struct TimelineGateTests {
    /// Returns a log with two events. A goal at 1000 is recorded at 1200 and corrected at 5000. A penalty at 2000 is
    /// deleted at 3000.
    private func example() throws -> TimelineLog {
        var script = ScriptedLog()
        try script.put("goal", at: 1_000, recorded: 1_200, "told")
        try script.put("penalty", at: 2_000, recorded: 2_000)
        try script.delete("penalty", recorded: 3_000)
        try script.put("goal", at: 1_000, recorded: 5_000, "corrected")
        return script.log
    }

    @Test("the documented example with a late, a corrected and a deleted event, forwards and backwards")
    func workedExample() throws {
        var release = TimelineCursor()
        #expect(try release.take(example().revisions) == [])
        func received(at milliseconds: Int64) -> [String] { release.move(to: moment(milliseconds)).map(\.line) }
        #expect(received(at: 900) == [])
        #expect(release.due == moment(1_000))
        #expect(received(at: 999) == [])
        #expect(received(at: 1_000) == ["added goal told"])
        #expect(received(at: 2_500) == ["added penalty"])
        #expect(received(at: 3_500) == ["deleted penalty"])
        #expect(received(at: 5_000) == ["modified goal corrected"])
        #expect(received(at: 1_500) == ["modified goal told (seek)"])
        #expect(received(at: 900) == ["deleted goal told (seek)"])
        #expect(received(at: 6_000) == ["added goal corrected"])
        #expect(release.due == nil)
        // A viewer that was never between 2000 and 3000 never receives the penalty.
        var spoiler = TimelineCursor(spoiler: true)
        #expect(try spoiler.take(example().revisions).map(\.line) == ["added goal corrected"])
        #expect(spoiler.move(to: moment(900)) == [])
    }

    @Test(
        "an event that is recorded 12 s late reaches viewers past it at once, and others with its own frame",
        arguments: [0, 1_000, 30_000])
    func late(delay: Int64) throws {
        var script = ScriptedLog()
        var release = TimelineCursor()
        #expect(release.move(to: moment(12_999 - delay)) == [])
        try script.put("goal", at: 1_000, recorded: 13_000)
        let received = try release.take(script.log.revisions)
        guard delay == 30_000 else { return #expect(received.map(\.line) == ["added goal"]) }
        #expect(received == [] && release.due == moment(1_000))
        #expect(release.move(to: moment(999)) == [])
        #expect(release.move(to: moment(1_000)).map(\.line) == ["added goal"])
    }

    @Test("a correction of a late event reaches no viewer before a live viewer received the event")
    func lateCorrection() throws {
        var script = ScriptedLog()
        try script.put("goal", at: 1_000, recorded: 13_000, "told")
        try script.put("goal", at: 1_000, recorded: 15_000, "corrected")
        try script.put("none", at: 2_000, recorded: 13_500)
        try script.delete("none", recorded: 14_000)
        var release = TimelineCursor()
        #expect(try release.take(script.log.revisions) == [])
        func received(at milliseconds: Int64) -> [String] { release.move(to: moment(milliseconds)).map(\.line) }
        #expect(received(at: 1_000) == ["added goal told"])
        #expect(received(at: 2_000) == ["added none"])
        #expect(received(at: 13_999) == [])
        #expect(received(at: 14_000) == ["deleted none"])
        #expect(received(at: 14_999) == [])
        #expect(received(at: 15_000) == ["modified goal corrected"])
        #expect(received(at: 14_500) == ["modified goal told (seek)"])
        #expect(received(at: 500) == ["deleted goal told (seek)"])
        #expect(received(at: 15_001) == ["added goal corrected"])
    }

    @Test("an event that is added again after its deletion is a correction")
    func addedAgain() throws {
        var script = ScriptedLog()
        try script.put("goal", at: 1_000, recorded: 1_000, "told")
        try script.delete("goal", recorded: 4_000)
        try script.put("goal", at: 1_000, recorded: 9_000, "after all")
        var release = TimelineCursor()
        #expect(try release.take(script.log.revisions) == [])
        func received(at milliseconds: Int64) -> [String] { release.move(to: moment(milliseconds)).map(\.line) }
        #expect(received(at: 1_000) == ["added goal told"])
        #expect(received(at: 4_000) == ["deleted goal told"])
        #expect(received(at: 8_999) == [])
        #expect(received(at: 9_000) == ["added goal after all"])
    }

    @Test("without a timecode no event is known, and known ones are retracted")
    func nowhere() throws {
        var release = TimelineCursor()
        #expect(release.move(to: nil) == [])
        #expect(try release.take(example().revisions) == [])
        #expect(release.move(to: moment(2_500)).map(\.line) == ["added goal told", "added penalty"])
        #expect(release.move(to: nil).map(\.line) == ["deleted penalty (seek)", "deleted goal told (seek)"])
        #expect(release.shown == DeliveredRevisions())
    }

    @Test("the first description of the game applies from the beginning, later ones from their time")
    func info() throws {
        var script = ScriptedLog()
        try script.describe("Arena", recorded: 10_000)
        try script.describe("Stadium", recorded: 20_000)
        var release = TimelineCursor()
        #expect(try release.take(script.log.revisions) == [])
        #expect(release.move(to: moment(500)).map(\.line) == ["unknown game Arena"])
        #expect(release.move(to: moment(20_000)).map(\.line) == ["unknown game Stadium"])
        #expect(release.move(to: moment(600)).map(\.line) == ["unknown game Arena (seek)"])
    }

    @Test("the newest of several valid revisions applies, also if an older one is due later")
    func outOfOrder() throws {
        var script = ScriptedLog()
        try script.put("end", at: 20_000, recorded: 1_000, "planned")
        try script.put("end", at: 9_000, recorded: 8_000, "sooner")
        var release = TimelineCursor()
        #expect(try release.take(script.log.revisions) == [])
        #expect(release.move(to: moment(8_999)) == [])
        #expect(release.move(to: moment(9_000)).map(\.line) == ["added end sooner"])
        #expect(release.move(to: moment(30_000)) == [])
    }

    @Test("a restarted log retracts the events of the previous one")
    func startOver() throws {
        var release = TimelineCursor(spoiler: true)
        _ = try release.take(example().revisions)
        #expect(release.startOver().map(\.line) == ["deleted goal corrected (seek)"])
        #expect(release.log.newest == .none && release.shown == DeliveredRevisions())
        #expect(try release.take(example().revisions).map(\.line) == ["added goal corrected"])
    }

    @Test("the events depend only on the log and the time, not on previous times", arguments: 0..<20)
    func independentOfPreviousTimes(seed: Int) throws {
        var chance = SeededGenerator(seed: UInt64(seed) &* 0x9E37_79B9)
        let script = try randomLog(&chance)
        var release = TimelineCursor()
        var known: [TimelineEventID: GameEvent] = [:]
        var fed = 0
        for _ in 0..<300 {
            let received: [TimelineDelivery]
            if fed < script.log.revisions.count, chance.next(below: 3) == 0 {
                let count = min(1 + chance.next(below: 4), script.log.revisions.count - fed)
                received = try release.take(script.log.revisions[fed..<fed + count])
                fed += count
            } else if chance.next(below: 40) == 0 {
                received = release.move(to: nil)
            } else {
                received = release.move(to: moment(Int64(chance.next(below: 12_000))))
            }
            let fresh = oracle(release.log, at: release.moment)
            for delivery in received {
                if delivery.reason == nil { #expect(release.moment >= .at(delivery.gate), "\(delivery.line) is early") }
                let id = try #require(delivery.eventID)
                switch delivery.type {
                case .added: #expect(known.updateValue(try #require(delivery.event), forKey: id) == nil)
                case .modified: #expect(known.updateValue(try #require(delivery.event), forKey: id) != nil)
                case .deleted: #expect(known.removeValue(forKey: id) != nil)
                case .unknown: Issue.record("no game was described")
                }
            }
            #expect(release.shown.events == fresh)
            #expect(known == fresh.compactMapValues { release.log[$0]?.event })
        }
    }

    /// Returns the events that may be known at a time, by the rule and without the gate's own code. An event is known
    /// from its own time on. A later revision is known from the later of the event's time and the time of its
    /// recording.
    private func oracle(_ log: TimelineLog, at moment: TimelinePosition) -> [TimelineEventID: SequenceNumber] {
        guard case .at(let now) = moment else { return [:] }
        var newest: [TimelineEventID: TimelineRevision] = [:]
        var seen: Set<TimelineEventID> = []
        for revision in log.revisions {
            guard let id = revision.eventID else { continue }
            let isFirst = seen.insert(id).inserted
            if now >= revision.at, isFirst || now >= revision.recordedAt { newest[id] = revision }
        }
        return newest.filter { $0.value.event != nil }.mapValues(\.number)
    }

    /// Returns a log of about 200 changes of 60 events: late, corrected, deleted, repeated, and out of order.
    private func randomLog(_ chance: inout SeededGenerator) throws -> ScriptedLog {
        var script = ScriptedLog()
        var now: Int64 = 0
        for index in 0..<200 {
            now += Int64(chance.next(below: 100))
            let id = "e\(chance.next(below: 60))"
            let isThere = script.log.event(try TimelineEventID(id)) != nil
            if isThere, chance.next(below: 4) == 0 {
                try script.delete(id, recorded: now)
            } else {
                try script.put(id, at: now + Int64(chance.next(below: 3_000)) - 2_000, recorded: now, "text \(index)")
            }
        }
        return script
    }
}

import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastOverlay
import PCastTimeline

/// JSON as in tokens.
enum JSONTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let object = JSONObject(text: String(decoding: bytes, as: UTF8.self)) else { return false }
        let text = object.text
        try check(text.utf8.count <= 6 * bytes.count + 64, "\(text.utf8.count) bytes of text from \(bytes.count)")
        if text.utf8.count <= 16 * 1024 {
            try check(JSONObject(text: text)?.text == text, "an object that changed: \(text)")
        }
        _ = EdgeToken(object)
        return true
    }

    static let corpus: [[UInt8]] = [
        #"{"expires":1000,"requiredTag":"channelAlias:my-channel","type":"stream","capabilities":["a","b"]}"#,
        #"{"a":[1,-2.5e3,0.1,true,false,null,{"b":{}}],"\u00e9\n":"\ud83d\ude00\\\"\/","c":9007199254740993}"#,
        #" { "applicationId" : "x" , "applyTags" : [ ] } "#,
    ].map { Array($0.utf8) }
}

/// A page's messages to an overlay.
enum OverlayTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let envelope: OverlayEnvelope
        do throws(OverlayWireError) {
            envelope = try OverlayEnvelope(text: text)
        } catch {
            return false
        }
        try check(text.utf8.count <= OverlayEnvelope.sizeLimit, "a message of \(text.utf8.count) bytes")
        // Escapes may make the written message longer than the read limit.
        let written = envelope.text
        if written.utf8.count <= OverlayEnvelope.sizeLimit {
            let again = try? OverlayEnvelope(text: written)
            try check(again == envelope, "a message that changed: \(written)")
        }
        _ = try? OverlayMessage(report: envelope)
        guard let request = try? OverlayRequest(envelope, text: text) else { return true }
        if case .message(let message) = request {
            switch message {
            case .bridgeVideoScale(let scale): try check(scale.isValid, "\(scale)")
            case .bridgeVolume(let volume): try check((0...100).contains(volume), "a volume of \(volume)")
            case .bridgeMessage(let received):
                try check(received == text, "a message that was not handed on as it came")
            default: break
            }
        }
        return true
    }

    static let corpus: [[UInt8]] = [
        #"{"v":1,"event":"bridge.ready","metadata":{},"seq":1,"epoch":0}"#,
        #"{"v":1,"event":"player.time","metadata":{"timecode":1790000000000},"seq":7,"epoch":3}"#,
        #"{"v":1,"event":"player.videoscale","metadata":{"scaleX":0.5,"scaleY":5e-1,"pivotX":1,"pivotY":0,"scaleDuration":300},"seq":8,"epoch":3}"#,
        #"{"v":1,"event":"app.language","metadata":{"language":"de","available":["en","de"]},"seq":9,"epoch":3}"#,
        #"{"v":1,"event":"app.error","metadata":{"type":"warning","message":"\u00e9\ud83d\ude00\n","code":-4},"seq":10,"epoch":3}"#,
        #"{"v":1,"event":"poll.vote","metadata":{"a":[1,-2.5,null,true,{"b":{}}]},"seq":11,"epoch":3,"more":[[]]}"#,
        #"{"v":1,"event":"stage.swipe","metadata":{"direction":"left"},"seq":12,"epoch":3}"#,
    ].map { Array($0.utf8) }
}

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
        if let time = Timestamp.parse(httpDate: String(decoding: bytes, as: UTF8.self)) {
            isRead = true
            try check(Timestamp.parse(Timestamp.text(time)) == time, "a time that changed")
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
        try check(TimelineGate.shown(of: log, at: .ungated).events[id] == SequenceNumber(1), "an event not shown")
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

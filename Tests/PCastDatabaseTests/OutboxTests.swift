import Foundation
import GRDB
import PCastCore
import Testing

@testable import PCastDatabase

@Suite struct OutboxTests {
    private let now = Sample.after(3_600)

    private func due(_ records: Records) async throws -> [DueDelivery] {
        try await records.due(at: now, each: 100, limit: 100)
    }

    private func what(_ delivery: DueDelivery) throws -> String {
        let body = try #require(try JSONSerialization.jsonObject(with: Data(delivery.body)) as? [String: Any])
        return "\(delivery.stream) \(body["what"] as? String ?? "")"
    }

    @Test("every address gets each event of a stream in order") func order() async throws {
        let records = try Records.inMemory()
        for name in ["a", "b"] { try await Sample.callback(name, in: records) }
        for id in ["one", "two"] { try await records.record(Sample.life(id)) }
        for kind in ["starting", "started", "ended"] {
            let batch = try await due(records)
            #expect(
                try Set(batch.map { "\($0.callback.name) \(try what($0))" })
                    == ["a one \(kind)", "b one \(kind)", "a two \(kind)", "b two \(kind)"])
            // The same event has the same name at every address.
            #expect(Set(batch.map(\.id)).count == 2)
            for delivery in batch { try await records.note(.delivered, of: delivery.outboxKey, answer: "200") }
        }
        #expect(try await due(records).isEmpty)
        #expect(try await records.nextDue(after: now) == nil)
    }

    @Test("the end of a stream has the reason and the duration") func body() async throws {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        try await records.record(Sample.life("one", reason: "censored"))
        var bodies: [NSDictionary] = []
        while let delivery = try await due(records).first {
            bodies.append(try #require(try JSONSerialization.jsonObject(with: Data(delivery.body)) as? NSDictionary))
            try await records.note(.delivered, of: delivery.outboxKey, answer: "200")
        }
        #expect(bodies.count == 3)
        #expect(
            bodies.last == [
                "apiVersion": 0, "entity": "stream", "what": "ended", "sessionId": "session-1",
                "timestamp": Timestamp.text(Sample.after(61)),
                "data": ["streamId": "one", "tags": ["live", "red"], "reason": "censored", "duration": 60_000],
            ] as NSDictionary)
        #expect(
            bodies.first == [
                "apiVersion": 0, "entity": "stream", "what": "starting", "sessionId": "session-1",
                "timestamp": Timestamp.text(Sample.time), "data": ["streamId": "one", "tags": ["live", "red"]],
            ] as NSDictionary)
    }

    @Test("a backend receives the playlist of a packaged stream once, and not after its end") func playlist()
        async throws
    {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        let packaged = RecordChange.streamPackaged(
            StreamID("one"), at: Sample.after(2), playlist: "/video/one/index.m3u8")
        try await records.record([
            .streamStarting(Sample.stream("one")), .streamStarted(StreamID("one"), at: Sample.after(1)), packaged,
            packaged,
        ])
        try await records.record(Sample.life("two"))
        try await records.record([
            .streamPackaged(StreamID("two"), at: Sample.after(99), playlist: "/video/two/index.m3u8")
        ])
        var bodies: [NSDictionary] = []
        while let delivery = try await due(records).first {
            bodies.append(try #require(try JSONSerialization.jsonObject(with: Data(delivery.body)) as? NSDictionary))
            try await records.note(.delivered, of: delivery.outboxKey, answer: "200")
        }
        let playlists = bodies.filter { $0["what"] as? String == "playlist" }
        #expect(playlists.count == 1)
        let data = try #require(playlists.first?["data"] as? NSDictionary)
        #expect(
            data == [
                "streamId": "one", "tags": ["live", "red"], "uri": "/video/one/index.m3u8", "playlistType": "Live",
                "isVariant": true,
            ] as NSDictionary)
    }

    @Test("a backend receives each event of a name once and in order, beside those of streams")
    func names() async throws {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        let event = { (kind: NotificationRecord.Kind, stream: String?, reason: String?, seconds: Int64) in
            NameEventRecord(
                application: Sample.application, name: "show", stream: stream.map { StreamID($0) }, kind: kind,
                reason: reason, publisher: reason.map { _ in StreamID("p") }, time: Sample.after(seconds))
        }
        let switched = RecordChange.nameChanged(event(.switched, "one", "began", 2))
        try await records.record(Sample.life("one"))
        try await records.record([
            .nameChanged(event(.demanded, nil, nil, 0)), .nameChanged(event(.ready, "one", nil, 1)), switched, switched,
            .nameChanged(event(.switched, "one", "silent", 3)), .nameChanged(event(.ended, "one", nil, 4)),
        ])
        var bodies: [NSDictionary] = []
        while let delivery = try await due(records).first(where: { $0.stream.description == "name:show" }) {
            bodies.append(try #require(try JSONSerialization.jsonObject(with: Data(delivery.body)) as? NSDictionary))
            try await records.note(.delivered, of: delivery.outboxKey, answer: "200")
        }
        #expect(
            bodies.compactMap { $0["what"] as? String } == ["demanded", "ready", "switched", "switched", "ended"])
        #expect(
            bodies[3] == [
                "apiVersion": 0, "entity": "name", "what": "switched", "timestamp": Timestamp.text(Sample.after(3)),
                "data": ["name": "show", "streamId": "one", "publisherId": "p", "reason": "silent"],
            ] as NSDictionary)
        #expect(bodies[0]["data"] as? NSDictionary == ["name": "show"] as NSDictionary)
        let notifications = try await records.notifications(of: Sample.application, limit: 100)
        #expect(notifications.filter { $0.name == "show" }.count == 5)
        #expect(notifications.filter { $0.name == nil }.count == 3)
        // A database in memory keeps the newest ones, and all that are pending.
        try await records.discard(keeping: 2)
        let kept = try await records.notifications(of: Sample.application, limit: 100)
        #expect(kept.filter { $0.name != nil }.map(\.kind) == [.ended, .switched])
        #expect(kept.filter { $0.name == nil }.count == 3)
    }

    @Test("notifications of an earlier version keep their deliveries") func migration() async throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database, upTo: "uploads")
        try await database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO callback (number, application, name, uri, method, secret)
                        VALUES (3, 'a', 'n', 'https://backend.example/', 'POST', x'00');
                    INSERT INTO notification (number, id, application, stream, what, body, time)
                        VALUES (7, 'msg_1', 'a', 'one', 'ended', x'7b7d', 5);
                    INSERT INTO delivery (notification, callback, stream, state, attempts, due)
                        VALUES (7, 3, 'one', 'pending', 2, 5);
                    """)
        }
        try Schema.migrator.migrate(database)
        let kept = try await database.read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT n.number, n.id, n.name, d.attempts FROM notification n
                    JOIN delivery d ON d.notification = n.number
                    """
            ).map { row in
                "\(row["number"] as Int64) \(row["id"] as String) \(row["name"] as String? ?? "no name")"
                    + " \(row["attempts"] as Int)"
            }
        }
        #expect(kept == "7 msg_1 no name 2")
    }

    @Test("a failed delivery is due later and delays later ones of its stream only")
    func retries() async throws {
        let records = try Records.inMemory()
        for name in ["a", "b"] { try await Sample.callback(name, in: records) }
        for id in ["one", "two"] { try await records.record(Sample.life(id)) }
        let failing = try #require(
            try await due(records).first { $0.callback.name == "a" && $0.stream.description == "one" })
        try await records.note(.retry(at: now + .seconds(5)), of: failing.outboxKey, answer: "503")
        let rest = try await due(records)
        #expect(
            try Set(rest.map { "\($0.callback.name) \(try what($0))" }) == [
                "b one starting", "a two starting", "b two starting",
            ])
        for delivery in rest {
            try await records.note(.retry(at: now + .seconds(50)), of: delivery.outboxKey, answer: "x")
        }
        #expect(try await records.nextDue(after: now) == now + .seconds(5))
        let later = try await records.due(at: now + .seconds(5), each: 10, limit: 10)
        #expect(later.map(\.id) == [failing.id])
        #expect(later.first?.attempts == 1)
        #expect(later.first?.body == failing.body)
    }

    @Test("after the last attempt a notification has failed, others pass it, and it can be sent again") func failed()
        async throws
    {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        try await records.record(Sample.life("one"))
        let first = try #require(try await due(records).first)
        try await records.note(.failed, of: first.outboxKey, answer: "no answer")
        #expect(try what(try #require(try await due(records).first)) == "one started")
        let kept = try await records.notifications(of: Sample.application, state: .failed, limit: 10)
        #expect(kept.map(\.id) == [first.id])
        #expect(kept.first?.deliveries.first?.answer == "no answer")
        #expect(try await records.redeliver(first.id, of: ApplicationID("other"), at: now) == 0)
        #expect(try await records.redeliver("msg_nonsense", of: Sample.application, at: now) == 0)
        #expect(try await records.redeliver(nil, of: Sample.application, at: now) == 1)
        let again = try #require(try await due(records).first)
        #expect(again.id == first.id && again.attempts == 0)
    }

    @Test("the outbox survives a restart, with addresses and their secrets") func lasts() async throws {
        try await withDirectory { path in
            let secret = try #require(SigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
            do {
                let records = try Records.open(path)
                _ = try await records.setCallback(
                    "a", of: Sample.application, uri: "https://backend.example/a", method: .put, secret: secret)
                try await records.record(Sample.life("one"))
            }
            let records = try Records.open(path)
            let delivery = try #require(try await due(records).first)
            #expect(delivery.callback.secret == secret)
            #expect(delivery.callback.method == .put)
            let file = try Data(contentsOf: URL(fileURLWithPath: records.path))
            #expect(file.range(of: Data(secret.bytes)) == nil)
        }
    }

    @Test("a changed address keeps its secret and deliveries, and a removed one loses them")
    func changes() async throws {
        let records = try Records.inMemory()
        let first = try #require(try await Sample.callback("a", in: records))
        try await records.record(Sample.life("one"))
        let changed = try await records.setCallback(
            "a", of: Sample.application, uri: "https://new.example/", method: .post, secret: nil)
        #expect(changed?.secret == first.secret)
        #expect(try await due(records).map(\.callback.uri) == ["https://new.example/"])
        #expect(try await records.removeCallback("a", of: Sample.application))
        #expect(try await !records.removeCallback("a", of: Sample.application))
        #expect(try await due(records).isEmpty)
    }

    @Test("the number of an application's addresses is limited") func limit() async throws {
        let records = try Records.inMemory()
        for number in 0..<Records.callbackLimit { #expect(try await Sample.callback("c\(number)", in: records) != nil) }
        #expect(try await Sample.callback("one more", in: records) == nil)
        #expect(try await Sample.callback("c0", in: records) != nil)
        #expect(try await records.callbacks(of: Sample.application).count == Records.callbackLimit)
    }

    @Test("an address with many deliveries does not delay the others") func fair() async throws {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        for number in 0..<20 { try await records.record(Sample.life("s\(number)")) }
        try await Sample.callback("b", in: records)
        try await records.record(Sample.life("last"))
        let due = try await records.due(at: now, each: 4, limit: 5)
        #expect(due.map(\.callback.name).sorted() == ["a", "a", "a", "a", "b"])
    }
}

import Foundation
import PCastCore
import Testing

@testable import PCastDatabase

@Suite("The values of a database that all nodes of a cluster have")
struct ClusterValueTests {
    private static let now = Sample.after(3_600)

    private static func describe(_ values: [ClusterValueRecord]) -> [String] {
        values.map { "\($0.kind.rawValue) \($0.name)" + ($0.content == nil ? " deleted" : "") }
    }

    private static func addKey(_ name: String, to records: Records) async throws -> StreamKeyRecord {
        let limits = StreamKeyLimits(
            bitrate: Bitrate(bitsPerSecond: 1_000_000), width: 640, height: 360, connections: 2)
        return try #require(
            try await records.setStreamKey(
                name, of: Sample.application, tags: ["x"], capabilities: ["y"], limits: limits, at: Sample.time))
    }

    @Test("each change of a value gets a higher version once, also its deletion")
    func changes() async throws {
        let records = try Records.inMemory()
        #expect(try await records.takeClusterChanges(above: 0) == [])
        _ = try await Self.addKey("studio", to: records)
        try await Sample.callback("hook", in: records)
        try await records.setAddedApplication(ApplicationRecord(id: ApplicationID("new"), secret: "s"), at: Self.now)
        let first = try await records.takeClusterChanges(above: 7)
        #expect(Self.describe(first) == ["application -", "key studio", "webhook hook"])
        #expect(first.map(\.version.number) == [8, 8, 8])
        #expect(try await records.takeClusterChanges(above: 7) == [])
        _ = try await records.rotateStreamKey("studio", of: Sample.application, at: Self.now)
        let rotated = try await records.takeClusterChanges(above: 0)
        #expect(Self.describe(rotated) == ["key studio"])
        #expect(rotated.first?.version.number == 9)
        #expect(try await records.revokeStreamKey("studio", of: Sample.application))
        #expect(try await records.removeCallback("hook", of: Sample.application))
        try await records.removeAddedApplication(ApplicationID("new"))
        let deleted = try await records.takeClusterChanges(above: 20)
        #expect(Self.describe(deleted) == ["application - deleted", "key studio deleted", "webhook hook deleted"])
        #expect(try await records.clusterValues().count == 3)
    }

    @Test("the applications of the configuration are not shared, and do not change")
    func configuration() async throws {
        let (one, other) = (try Records.inMemory(), try Records.inMemory())
        let id = ApplicationID("first")
        try await one.setApplications([ApplicationRecord(id: id, secret: "one")], at: Self.now)
        #expect(try await one.takeClusterChanges(above: 0) == [])
        try await other.setAddedApplication(ApplicationRecord(id: id, secret: "other"), at: Self.now)
        for value in try await other.takeClusterChanges(above: 0) { _ = try await one.apply(value, at: Self.now) }
        #expect(try await one.applications() == [ApplicationRecord(id: id, secret: "one")])
        #expect(try await one.addedApplications() == [])
        // The application of the other node is not announced as deleted, because it is not in this database.
        #expect(try await one.clusterValues() == [])
        #expect(try await other.clusterValues().count == 1)
    }

    @Test("another node has the same keys, webhooks and applications, and does not announce them as its own changes")
    func copies() async throws {
        let (one, other) = (try Records.inMemory(), try Records.inMemory())
        let key = try await Self.addKey("studio", to: one)
        let hook = try await Sample.callback("hook", in: one)
        let application = ApplicationRecord(id: ApplicationID("new"), secret: "s")
        try await one.setAddedApplication(application, at: Self.now)
        let values = try await one.takeClusterChanges(above: 0)
        for value in values { #expect(try await other.apply(value, at: Self.now)) }
        #expect(try await other.streamKeys(of: Sample.application) == [key])
        #expect(try await other.streamKey(matching: key.secret) == key)
        #expect(try await other.callbacks(of: Sample.application) == [try #require(hook)])
        #expect(try await other.addedApplications() == [application])
        #expect(try await other.takeClusterChanges(above: 0) == [])
        #expect(try await Set(other.clusterValues()) == Set(values))
        for value in values { #expect(try await !other.apply(value, at: Self.now)) }
        let deleted = values.map { value in
            var value = value
            value.version = ClusterValueRecord.Version(number: value.version.number + 1, claim: 1)
            value.content = nil
            return value
        }
        for value in deleted { #expect(try await other.apply(value, at: Self.now)) }
        #expect(try await other.streamKeys(of: Sample.application) == [])
        #expect(try await other.callbacks(of: Sample.application) == [])
        #expect(try await other.addedApplications() == [])
        #expect(try await other.takeClusterChanges(above: 0) == [])
    }

    @Test("an older value of another node is ignored, and a change of this node gets a version above it")
    func conflicts() async throws {
        let (one, other) = (try Records.inMemory(), try Records.inMemory())
        _ = try await Self.addKey("studio", to: one)
        let first = try #require(try await one.takeClusterChanges(above: 0).first)
        let key = try await Self.addKey("studio", to: other)
        // The change of the other node was not announced yet.
        #expect(try await !other.apply(first, at: Self.now))
        let second = try #require(try await other.takeClusterChanges(above: 0).first)
        #expect(second.version > first.version)
        #expect(try await one.apply(second, at: Self.now))
        #expect(try await one.streamKeys(of: Sample.application) == [key])
        #expect(try await !one.apply(first, at: Self.now))
        #expect(try await one.streamKeys(of: Sample.application) == [key])
    }

    @Test("a value with an invalid content is rejected and changes nothing")
    func invalid() async throws {
        let records = try Records.inMemory()
        for kind in ClusterValueRecord.Kind.allCases {
            for content in ["", "{}", #"{"uri":"x","method":"POST"}"#] {
                let value = ClusterValueRecord(
                    kind: kind, application: Sample.application, name: "a",
                    version: ClusterValueRecord.Version(number: 1, claim: 1), content: Data(content.utf8))
                do throws(RecordsError) {
                    _ = try await records.apply(value, at: Self.now)
                    Issue.record("\(kind) \(content) was applied")
                } catch {
                    #expect(!error.isOfTheDisk)
                }
            }
        }
        #expect(try await records.clusterValues() == [])
        #expect(try await records.takeClusterChanges(above: 0) == [])
    }

    @Test("a node adds the notifications of a lost one to its outbox once, and delivers them in their order")
    func takeover() async throws {
        let (lost, heir) = (try Records.inMemory(), try Records.inMemory())
        for records in [lost, heir] { try await Sample.callback("hook", in: records) }
        try await lost.record(Sample.life("one"))
        let pending = try await lost.pendingNotifications(limit: 10)
        #expect(pending.map(\.entry.kind) == ["starting", "started", "ended"])
        #expect(try await lost.pendingNotifications(limit: 2).count == 2)
        let entries = pending.map(\.entry)
        #expect(try await heir.takeOver(entries) == [])
        #expect(try await heir.takeOver(entries) == [])
        var delivered: [String] = []
        while let delivery = try await heir.due(at: Self.now, each: 8, limit: 8).first {
            delivered.append(delivery.id)
            try await heir.note(.delivered, of: delivery.outboxKey, answer: "200")
        }
        #expect(delivered == entries.map(\.id))
        #expect(try await heir.takeOver(entries) == entries.map(\.id))
        #expect(try await heir.pendingNotifications(limit: 10).isEmpty)
        // The lost node returns.
        try await lost.transfer(entries.map(\.id))
        #expect(try await lost.due(at: Self.now, each: 8, limit: 8).isEmpty)
    }
}

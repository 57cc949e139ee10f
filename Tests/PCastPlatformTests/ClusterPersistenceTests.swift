import Foundation
import PCastCluster
import PCastCore
import PCastDatabase
import Testing

@testable import PCastPlatform

/// The data that a node of a cluster has accepted, at the other nodes.
@Suite("The data of platforms of a cluster")
struct ClusterPersistenceTests {
    /// Runs a platform as a node of a cluster.
    private static func run(
        _ node: String, _ store: MemoryDirectoryStore, records: StorageConfiguration = StorageConfiguration(),
        configured: PlatformConfiguration.Application? = nil, _ body: (TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            records: records,
            configure: { configuration in
                configuration.cluster = ClusterConfiguration(
                    servers: [], node: node, secret: "a secret of the cluster")
                configuration.clusterDirectory = store.attach()
                // A node that cannot remove its announcement before it stops is lost later.
                configuration.clusterTiming.lease = .seconds(10)
                configuration.administrator = TestPlatform.application.id
                if let configured { configuration.applications.append(configured) }
            }, body)
    }

    private static func credentials(_ id: String, _ secret: String) -> [String: String] {
        ["Authorization": "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))"]
    }

    /// Returns the number of notifications in the directory.
    private static func notifications(in store: MemoryDirectoryStore) async -> Int {
        let directory = store.attach()
        var count = 0
        for await event in directory.events {
            if case .changed(.notification, _) = event { count += 1 }
            if event == .synchronized { break }
        }
        await directory.close()
        return count
    }

    @Test("a stream key is created, rotated and revoked at all nodes, also at one that starts later")
    func keys() async throws {
        let store = MemoryDirectoryStore()
        let key = "/pcast/key/studio"
        try await Self.run("a", store) { first in
            let created = try await first.ask("PUT", key, #"{"tags":["x"],"limits":{"width":640}}"#)
            #expect(created.status == 200)
            try await Self.run("b", store) { second in
                #expect(try await eventually { try await second.ask("GET", key).body == created.body })
                let rotated = try await second.ask("POST", key + "/rotation")
                #expect(rotated.status == 200 && rotated.body != created.body)
                #expect(try await eventually { try await first.ask("GET", key).body == rotated.body })
                #expect(try await first.ask("DELETE", key).status == 200)
                #expect(try await eventually { try await second.ask("GET", key).status == 404 })
            }
        }
    }

    @Test("an application that is added or removed at one node is so at the others, and its streams end")
    func applications() async throws {
        struct Added: Decodable { let secret: String }
        let store = MemoryDirectoryStore()
        try await Self.run("a", store) { first in
            try await Self.run("b", store) { second in
                let added = try await first.ask("PUT", "/pcast/application/new")
                #expect(added.status == 200)
                let secret = try JSONDecoder().decode(Added.self, from: Data(added.body.utf8)).secret
                let status = { () async throws in
                    try await second.send("GET", "/pcast/streams", Self.credentials("new", secret)).status
                }
                #expect(try await eventually { try await status() == 200 })
                let token = try Tokens.make(.init(id: ApplicationID("new"), secret: secret)) { $0.forPublishingOnly() }
                _ = try await second.publish(token: token)
                #expect(try await first.ask("DELETE", "/pcast/application/new").status == 200)
                #expect(try await eventually { try await status() == 401 })
                #expect(try await eventually { await second.platform.streams().isEmpty })
            }
        }
    }

    @Test("an application of a node's configuration continues when another node removes one with its identifier")
    func configuredApplication() async throws {
        let store = MemoryDirectoryStore()
        let application = PlatformConfiguration.Application(id: ApplicationID("new"), secret: "of the configuration")
        try await Self.run("a", store) { first in
            try await Self.run("b", store, configured: application) { second in
                _ = try await second.publish(token: try Tokens.make(application) { $0.forPublishingOnly() })
                #expect(try await first.ask("PUT", "/pcast/application/new").status == 200)
                #expect(try await first.ask("DELETE", "/pcast/application/new").status == 200)
                // Values are applied in their order.
                #expect(try await first.ask("PUT", "/pcast/key/later", "{}").status == 200)
                #expect(try await eventually { try await second.ask("GET", "/pcast/key/later").status == 200 })
                #expect(await second.platform.streams().count == 1)
                let status = try await second.send(
                    "GET", "/pcast/streams", Self.credentials("new", "of the configuration")
                ).status
                #expect(status == 200)
            }
        }
    }

    @Test("a node that stops leaves its notifications to another one, which sends them in order with their identifiers")
    func notifications() async throws {
        let storage = StorageConfiguration(
            webhookAllowedNetworks: [IPNetwork("127.0.0.0/8")].compactMap { $0 },
            notificationWaits: [.seconds(3_600)])
        let store = MemoryDirectoryStore()
        // The first attempt fails, and the node does not repeat it before it stops.
        try await Backend.run(statuses: [503]) { backend, port in
            try await Self.run("b", store, records: storage) { second in
                try await Self.run("a", store, records: storage) { first in
                    let path = "/pcast/application/first/callback"
                    let body = #"{"callback":{"host":"127.0.0.1","port":\#(port),"path":"/hook"}}"#
                    #expect(try await first.ask("PUT", path, body).status == 200)
                    #expect(try await eventually { try await second.ask("GET", path).body.contains("/hook") })
                    _ = try await first.publish(token: try Tokens.publishing())
                    #expect(try await backend.receives(1).count == 1)
                    // A busy machine may delay the renewals of the node, so that the other one begins already.
                    let areShared = try await eventually {
                        if backend.received.count > 1 { return true }
                        return await Self.notifications(in: store) == 2
                    }
                    #expect(areShared)
                }
                let received = try await backend.receives(3)
                #expect(received.prefix(3).map { $0.content?.what } == ["starting", "starting", "started"])
                #expect(received.first?.id == received.dropFirst().first?.id)
                #expect(received.first?.body == received.dropFirst().first?.body)
                // Delivered notifications leave the directory.
                #expect(try await eventually { await Self.notifications(in: store) == 0 })
            }
        }
    }
}

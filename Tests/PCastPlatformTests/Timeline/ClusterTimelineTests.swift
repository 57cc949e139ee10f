import Foundation
import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastTimeline
import PCastWeb
import Synchronization
import Testing

@testable import PCastPlatform

/// Timelines whose producers and consumers are connected to different platforms of a cluster.
@Suite("Timelines of a cluster") struct ClusterTimelineTests {
    private static let game = "/timeline/NHL/2354717"

    private static func withFolders(_ count: Int, _ body: ([String]) async throws -> Void) async throws {
        let folders = (0..<count).map { _ in
            FileManager.default.temporaryDirectory.appendingPathComponent("pcast-timeline-\(UUID())")
        }
        for folder in folders { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
        defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
        try await body(folders.map(\.path))
    }

    /// Runs a platform as a node of a cluster.
    private static func run(
        _ node: String, _ store: MemoryDirectoryStore? = nil, servers: [String] = [], folder: String? = nil,
        homeTimeout: TimeSpan = TestPlatform.ample,
        _ body: (TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            records: StorageConfiguration(directory: folder),
            configure: { configuration in
                configuration.cluster = ClusterConfiguration(
                    servers: servers, node: node, secret: "a secret of the cluster")
                configuration.clusterDirectory = store?.attach()
                configuration.clusterTiming.lease = .seconds(10)
                configuration.timelineHomeTimeout = homeTimeout
            }, body)
    }

    private static func cluster(of platform: TestPlatform) throws -> Cluster {
        let components = try #require(platform.platform.host.components.value)
        return try #require(components.cluster).cluster
    }

    private static func areConnected(_ platforms: TestPlatform...) async throws -> Bool {
        try await eventually {
            let clusters = try platforms.map { try cluster(of: $0) }
            return clusters.allSatisfy { cluster in
                cluster.isConnected && cluster.nodes.count == platforms.count
                    && cluster.nodes.allSatisfy { !$0.address.isEmpty }
            }
        }
    }

    private static func post(_ id: String, to platform: TestPlatform, _ body: String = "{}") async throws -> Int {
        try await platform.ask("POST", game + "/events/\(id)", body).status
    }

    /// Returns the IDs of the events of a platform in their order; nil without a timeline.
    private static func events(of platform: TestPlatform) async throws -> Set<String>? {
        struct Answer: Decodable {
            struct Event: Decodable { let id: String }
            let events: [Event]
        }
        let answer = try await platform.send("GET", game)
        guard answer.status == 200 else { return nil }
        return Set(try JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8)).events.map(\.id))
    }

    @Test("consumers of all nodes receive the events of all producers in the same order, each once")
    func order() async throws {
        let store = MemoryDirectoryStore()
        try await Self.run("a", store) { first in
            try await Self.run("b", store) { second in
                try await Self.run("c", store) { third in
                    try #require(try await Self.areConnected(first, second, third))
                    #expect(try await Self.post("0", to: first) == 201)
                    let path = Self.game + "/changes"
                    let platforms = [first, second, third]
                    try await TimelineListener.follow(first, path) { one, _ async throws in
                        try await TimelineListener.follow(third, path) { three, _ async throws in
                            // Producers at all nodes write at the same time.
                            try await withThrowingTaskGroup(of: Void.self) { group in
                                for (index, platform) in platforms.enumerated() {
                                    group.addTask { () async throws in
                                        for number in 0..<20 {
                                            #expect(try await Self.post("\(index)-\(number)", to: platform) == 201)
                                        }
                                    }
                                }
                                try await group.waitForAll()
                            }
                            #expect(try await one.reaches(61))
                            #expect(try await three.reaches(61))
                            #expect(one.revisions == three.revisions)
                            #expect(one.revisions.map(\.number.value) == Array(1...61))
                            for index in platforms.indices {
                                let own = one.revisions.compactMap(\.eventID?.description)
                                    .filter { $0.hasPrefix("\(index)-") }
                                #expect(own == (0..<20).map { "\(index)-\($0)" })
                            }
                        }
                    }
                    // A rejected request has the same answer at each node.
                    #expect(try await second.ask("DELETE", Self.game + "/events/none").status == 404)
                    #expect(try await second.ask("DELETE", Self.game + "/events/0").body.contains(#""seq":62"#))
                    #expect(try await Self.post("0", to: third, #"{"id":"x"}"#) == 400)
                }
            }
        }
    }

    @Test("the events that a node has accepted are at the others when it ends, and a consumer continues there")
    func takeover() async throws {
        let store = MemoryDirectoryStore()
        try await Self.withFolders(2) { (folders: [String]) async throws in
            try await Self.run("b", store, folder: folders[1]) { second in
                let former = Mutex("")
                try await Self.run("a", store, folder: folders[0]) { first in
                    try #require(try await Self.areConnected(first, second))
                    for number in 0..<5 { #expect(try await Self.post("\(number)", to: first) == 201) }
                    try await TimelineListener.follow(second, Self.game + "/changes") { listener, _ async throws in
                        #expect(try await listener.reaches(5))
                    }
                    let document = try await first.send("GET", Self.game).body
                    let rest = try #require(document.split(separator: #""log":""#).dropFirst().first)
                    former.withLock { $0 = String(rest.prefix { $0 != "\"" }) }
                }
                #expect(try await Self.post("5", to: second) == 201)
                let log = former.withLock { $0 }
                let path = Self.game + "/changes?since=5&log=\(log)"
                try await TimelineListener.follow(second, path) { listener, _ async throws in
                    #expect(try await listener.reaches(1))
                    #expect(listener.revisions.map(\.number.value) == [6])
                    #expect(listener.beginning?.from == 5 && listener.beginning?.log.description != log)
                }
                // The node returns, and has the revisions of the other one.
                try await Self.run("a", store, folder: folders[0]) { first in
                    try #require(try await Self.areConnected(first, second))
                    #expect(try await eventually { try await Self.events(of: first)?.count == 6 })
                    #expect(try await Self.post("6", to: first) == 201)
                    #expect(try await Self.events(of: second)?.count == 7)
                }
            }
        }
    }

    @Test("nodes accept events while the directory is disconnected, and have all of them afterwards")
    func disconnected() async throws {
        let store = MemoryDirectoryStore()
        store.setReachable(false)
        try await Self.run("a", store) { first in
            try await Self.run("b", store) { second in
                for number in 0..<3 {
                    #expect(try await Self.post("a\(number)", to: first) == 201)
                    #expect(try await Self.post("b\(number)", to: second) == 201)
                }
                #expect(try await Self.events(of: first) == ["a0", "a1", "a2"])
                store.setReachable(true)
                try #require(try await Self.areConnected(first, second))
                let all: Set = ["a0", "a1", "a2", "b0", "b1", "b2"]
                #expect(try await eventually { try await Self.events(of: first) == all })
                #expect(try await eventually { try await Self.events(of: second) == all })
                // The directory loses everything, and the nodes continue with the same home.
                store.setReachable(false)
                store.reset()
                store.setReachable(true)
                #expect(try await Self.post("c", to: first) == 201)
                try #require(try await Self.areConnected(first, second))
                #expect(try await Self.post("d", to: second) == 201)
                let path = Self.game + "/changes"
                try await TimelineListener.follow(first, path) { one, _ async throws in
                    try await TimelineListener.follow(second, path) { two, _ async throws in
                        #expect(try await one.reaches(8))
                        #expect(try await two.reaches(8))
                        #expect(one.revisions == two.revisions)
                    }
                }
            }
        }
    }

    @Test("a revision that a node has just added is neither removed by those of another node nor mixed with them")
    func meanwhile() async throws {
        let game = try TimelineGame(league: "NHL", game: "1")
        let home = TimelineLineage(TimelineLogID("c"))
        let channel = TimelineChannel(TimelineLogID("a"))
        let request = TimelineRequest(.put(try TimelineEventID("1"), try GameEvent(parsing: Array("{}".utf8))))
        let own = try #require(
            try await channel.record(request, origin: "r1", beginning: TimelineLogID("b")))
        // The home's answer refers to the revisions from before.
        #expect(try await channel.reset(home, after: .none, newest: .none, of: game) == false)
        var next = own
        next.number = own.number.next
        #expect(try await channel.append([next]) == nil)
        #expect(channel.log.revisions == [own])
        #expect(try await channel.reset(home, after: .none, newest: own.number, of: game))
        #expect(try await channel.append([own]) == [own])
        #expect(channel.replica.lineage == home)
    }

    @Test("a node that has left its cluster begins a log of its own after the revisions of the cluster")
    func leaving() async throws {
        try await Self.withFolders(1) { (folders: [String]) async throws in
            let key = TimelineKey(
                application: ApplicationID("x"), game: try TimelineGame(league: "NHL", game: "1"))
            let requests = try ["1", "2", "3"].map { id in
                TimelineRequest(.put(try TimelineEventID(id), try GameEvent(parsing: Array("{}".utf8))))
            }
            func service() -> TimelineService {
                TimelineService(directory: folders[0], logger: Logger(label: "test"))
            }
            let node = try #require(try await service().channel(of: key, creates: true))
            _ = try await node.record(requests[0], origin: "r1", beginning: TimelineLogID("b"))
            let alone = try await service().record(requests[1], in: key)
            #expect(alone.revision?.number == SequenceNumber(2))
            #expect(alone.channel.replica.lineage.forks.map(\.log) == [node.id, alone.channel.id])
            // Its own log continues when it starts again.
            let again = try await service().record(requests[2], in: key)
            #expect(again.revision?.number == SequenceNumber(3))
            #expect(again.channel.replica.lineage == alone.channel.replica.lineage)
        }
    }

    @Test(
        "with NATS, no event is lost when NATS loses its data and the node of the producer ends",
        .enabled(if: !NATSProcess.isMissing, "nats-server is not installed"))
    func nats() async throws {
        let server = try NATSProcess()
        try await Self.withFolders(2) { (folders: [String]) async throws in
            try await Self.run("b", servers: [server.uri], folder: folders[1]) { second in
                let path = Self.game + "/changes"
                try await Self.run("a", servers: [server.uri], folder: folders[0]) { first in
                    try #require(try await Self.areConnected(first, second))
                    #expect(try await Self.post("0", to: first) == 201)
                    try await TimelineListener.follow(second, path) { listener, _ async throws in
                        #expect(try await listener.reaches(1))
                        server.stop()
                        let isDisconnected = try await eventually {
                            try !Self.cluster(of: first).isConnected && !Self.cluster(of: second).isConnected
                        }
                        #expect(isDisconnected)
                        // The nodes reach each other, and know the home.
                        #expect(try await Self.post("1", to: first) == 201)
                        #expect(try await Self.post("2", to: second) == 201)
                        #expect(try await listener.reaches(3))
                        try server.start()
                        try #require(try await Self.areConnected(first, second))
                        #expect(try await Self.post("3", to: first) == 201)
                        #expect(try await listener.reaches(4))
                        #expect(listener.revisions.map(\.number.value) == Array(1...4))
                    }
                }
                #expect(try await Self.post("4", to: second) == 201)
                #expect(try await Self.events(of: second) == ["0", "1", "2", "3", "4"])
            }
        }
        server.stop()
    }
}

/// A process of nats-server, which loses its data when it stops.
private final class NATSProcess: @unchecked Sendable {
    private static let program = "/usr/sbin/nats-server"
    static let isMissing = !FileManager.default.isExecutableFile(atPath: program)

    private struct DidNotStart: Error {}

    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID())").path
    private var process: Process?
    private var port = 0

    var uri: String { "nats://127.0.0.1:\(port)" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for _ in 0..<20 {
            // The kernel gives ports of this range to no other socket. A server whose port is in use ends.
            port = Int.random(in: 20_000..<32_000)
            if (try? start()) != nil { return }
        }
        throw DidNotStart()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func start() throws {
        try? FileManager.default.removeItem(atPath: "\(folder)/store")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = [
            "--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir", "\(folder)/store",
            "--ports_file_dir", folder,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        // The server writes the file when it listens.
        let file = "\(folder)/nats-server_\(process.processIdentifier).ports"
        let end = ContinuousClock.now + .seconds(60)
        while process.isRunning, ContinuousClock.now < end {
            if let text = try? String(contentsOfFile: file, encoding: .utf8), text.contains("://127.0.0.1:\(port)\"") {
                return
            }
            poll(nil, 0, 5)
        }
        stop()
        throw DidNotStart()
    }

    func stop() {
        guard let process else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }
}

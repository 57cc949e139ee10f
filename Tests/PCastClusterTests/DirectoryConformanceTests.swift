import Foundation
import PCastCluster
import PCastCore
import Testing

/// The directory of a test, which can be stopped and emptied.
protocol TestStore: Sendable {
    func directory() -> any ClusterDirectory
    /// Stops the store, so that all nodes are disconnected.
    func stop() throws
    /// Starts the store again, with or without its values.
    func start(isEmpty: Bool) throws
}

extension MemoryDirectoryStore: TestStore {
    func directory() -> any ClusterDirectory { attach() }
    func stop() { setReachable(false) }
    func start(isEmpty: Bool) {
        if isEmpty { reset() }
        setReachable(true)
    }
}

/// A process of nats-server with its own folder.
final class TestNATSServer: TestStore, @unchecked Sendable {
    static let program = "/usr/sbin/nats-server"
    static let isMissing = !FileManager.default.isExecutableFile(atPath: program)
    static let secret = "the secret of this cluster"

    private let folder: String
    private let arguments: [String]
    private var process: Process?
    /// The port of the server; nil before it has started.
    private var port: Int?

    struct DidNotStart: Error {}

    init(_ arguments: [String] = []) throws {
        self.arguments = arguments
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try start(isEmpty: false)
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func configuration(user: String = "", secret: String = secret) -> NATSConfiguration {
        NATSConfiguration(servers: ["nats://\(user)127.0.0.1:\(port!)"], secret: secret)
    }

    /// Returns the configuration of a client that verifies the server's certificate.
    func secureConfiguration(authority: String?) -> NATSConfiguration {
        var configuration = NATSConfiguration(servers: ["tls://localhost:\(port!)"], secret: Self.secret)
        configuration.authorityFile = authority
        return configuration
    }

    func directory() -> any ClusterDirectory { NATSDirectory(configuration()) }

    func stop() { kill() }

    private func kill() {
        guard let process else { return }
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    /// Starts the server: the first time at a free port, and then at the same one.
    ///
    /// The port is below the range from which the kernel gives ports to sockets that ask for any (`ip_local_port_range`,
    /// ip(7)). No other socket gets it while the server is stopped, and no client connects to itself then.
    func start(isEmpty: Bool) throws {
        if isEmpty { try FileManager.default.removeItem(atPath: "\(folder)/store") }
        if let port { return try start(at: port) }
        for _ in 0..<20 {
            let chosen = Int.random(in: 20_000..<32_000)
            // A server whose port is in use ends.
            guard (try? start(at: chosen)) != nil else { continue }
            port = chosen
            return
        }
        throw DidNotStart()
    }

    private func start(at port: Int) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments =
            [
                "--addr", "127.0.0.1", "--port", "\(port)", "--jetstream", "--store_dir", "\(folder)/store",
                "--ports_file_dir", folder,
            ] + arguments
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
        kill()
        throw DidNotStart()
    }
}

/// The events of a directory, which are awaited.
private actor EventLog {
    private var events: [DirectoryEvent] = []

    init(_ directory: any ClusterDirectory) {
        Task { for await event in directory.events { await append(event) } }
    }

    private func append(_ event: DirectoryEvent) { events.append(event) }

    /// Returns the events after an index up to the one that matches; nil if there is none in two minutes.
    func events(from index: Int = 0, until isLast: (DirectoryEvent) -> Bool) async throws -> [DirectoryEvent]? {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if let last = events.dropFirst(index).firstIndex(where: isLast) { return Array(events[index...last]) }
            try await ContinuousClock().sleep(for: .milliseconds(2))
        }
        return nil
    }

    var count: Int { events.count }
}

private func waitUntil(_ condition: () -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < end {
        if condition() { return true }
        try await ContinuousClock().sleep(for: .milliseconds(2))
    }
    return false
}

private func error<Value>(_ operation: () async throws(DirectoryError) -> Value) async -> DirectoryError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}

/// The implementations of a directory.
enum Implementation: String, CaseIterable, Sendable {
    case memory
    case nats

    static var available: [Implementation] { TestNATSServer.isMissing ? [.memory] : allCases }

    func store() throws -> any TestStore {
        switch self {
        case .memory: MemoryDirectoryStore()
        case .nats: try TestNATSServer()
        }
    }
}

@Suite("Each implementation of the directory")
struct DirectoryConformanceTests {
    private static func record(_ name: String, _ stream: String = "s") -> ClusterRecord {
        .stream(ClusterStream(name: name, stream: stream, application: "app", node: "n"))
    }

    @Test("writes and removes values by their revisions, and reports the changes", arguments: Implementation.available)
    func revisions(_ implementation: Implementation) async throws {
        let store = try implementation.store()
        let (writer, reader) = (store.directory(), store.directory())
        let (own, log) = (EventLog(writer), EventLog(reader))
        #expect(try await own.events { $0 == .synchronized } == [.connected, .synchronized])
        #expect(try await log.events { $0 == .synchronized } == [.connected, .synchronized])

        let first = try await writer.write(Self.record("a"), replacing: nil)
        let again = await error { () throws(DirectoryError) in
            try await reader.write(Self.record("a", "other"), replacing: nil)
        }
        #expect(again == .conflict)
        let second = try await reader.write(Self.record("a", "s2"), replacing: first)
        #expect(second > first)
        let stale = await error { () throws(DirectoryError) in
            try await writer.write(Self.record("a", "s3"), replacing: first)
        }
        #expect(stale == .conflict)
        let wrong = await error { () throws(DirectoryError) in
            try await writer.remove(Self.record("a").key, revision: first)
        }
        #expect(wrong == .conflict)
        try await writer.remove(Self.record("a").key, revision: second)
        // A key whose value was removed is written like a new one.
        let third = try await writer.write(Self.record("a", "s4"), replacing: nil)
        let last = try await writer.write(Self.record("b"), replacing: nil)
        let changes: [DirectoryEvent] = [
            .connected, .synchronized, .changed(Self.record("a"), revision: first),
            .changed(Self.record("a", "s2"), revision: second), .removed(Self.record("a").key),
            .changed(Self.record("a", "s4"), revision: third), .changed(Self.record("b"), revision: last),
        ]
        #expect(try await log.events { $0 == changes.last } == changes)
        #expect(try await own.events { $0 == changes.last } == changes)

        // A node that joins receives the last values only.
        try await writer.remove(Self.record("b").key, revision: last)
        let newcomer = store.directory()
        let snapshot = try #require(await EventLog(newcomer).events { $0 == .synchronized })
        #expect(
            snapshot.filter { $0 != .removed(Self.record("b").key) }
                == [.connected, .changed(Self.record("a", "s4"), revision: third), .synchronized])
        for directory in [writer, reader, newcomer] { await directory.close() }
        let closed = await error { () throws(DirectoryError) in
            try await writer.write(Self.record("c"), replacing: nil)
        }
        if case .unavailable = closed {} else { Issue.record("a closed directory accepts a write") }
    }

    @Test(
        "connects again after the store was stopped, and reports what it has then", arguments: Implementation.available)
    func reconnection(_ implementation: Implementation) async throws {
        let store = try implementation.store()
        let directory = store.directory()
        let log = EventLog(directory)
        _ = try #require(await log.events { $0 == .synchronized })
        let revision = try await directory.write(Self.record("a"), replacing: nil)
        let change = DirectoryEvent.changed(Self.record("a"), revision: revision)
        _ = try #require(await log.events { $0 == change })
        for isEmpty in [false, true] {
            let count = await log.count
            try store.stop()
            _ = try #require(
                await log.events(from: count) { if case .disconnected = $0 { true } else { false } })
            let failure = await error { () throws(DirectoryError) in
                try await directory.write(Self.record("b"), replacing: nil)
            }
            if case .unavailable = failure {} else { Issue.record("a stopped store accepts a write") }
            try store.start(isEmpty: isEmpty)
            let events = try #require(await log.events(from: count) { $0 == .synchronized })
            let reported = events.filter { if case .disconnected = $0 { false } else { true } }
            #expect(reported == (isEmpty ? [.connected, .synchronized] : [.connected, change, .synchronized]))
        }
        await directory.close()
    }

    @Test(
        "nodes find each other's streams while the store is stopped, and after it was emptied",
        arguments: Implementation.available)
    func cluster(_ implementation: Implementation) async throws {
        let store = try implementation.store()
        var timing = ClusterMember.Timing()
        timing.retry = .milliseconds(50)
        let nodes = ["a", "b"].enumerated().map { index, name in
            Cluster(
                ClusterNode(name: name, incarnation: UInt64(index), address: "http://\(name)", region: "r"),
                directory: store.directory(), timing: timing)
        }
        let running = nodes.map { node in Task { await node.run() } }
        let show = StreamID("show")
        nodes[0].publish(ClusterStream(name: "show", stream: "s1", application: "app"), .standby)
        // The other node may learn of the claim before this one receives the answer to it.
        #expect(
            try await waitUntil {
                nodes[1].origin(of: show) != nil && nodes[0].nodes.count == 2 && nodes[0].claimedEpoch(of: show) != nil
            })
        let epoch = try #require(nodes[0].claimedEpoch(of: show))
        #expect(nodes[1].origin(of: show)?.epoch == epoch)
        try store.stop()
        #expect(try await waitUntil { nodes.allSatisfy { !$0.isConnected } })
        #expect(nodes[1].origin(of: show)?.stream == StreamID("s1"))
        nodes[1].publish(ClusterStream(name: "late", stream: "s2", application: "app"), .standby)
        try store.start(isEmpty: true)
        #expect(try await waitUntil { nodes[0].origin(of: StreamID("late")) != nil })
        #expect(try await waitUntil { nodes[1].isConnected && nodes[1].origin(of: show)?.epoch == epoch })
        // A node that stops removes its stream.
        running[0].cancel()
        await running[0].value
        #expect(try await waitUntil { nodes[1].origin(of: show) == nil })
        running[1].cancel()
        await running[1].value
    }
}

@Suite("The directory in NATS", .enabled(if: !TestNATSServer.isMissing, "nats-server is not installed"))
struct NATSDirectoryTests {
    @Test("values that are signed with another secret are rejected and reported")
    func secrets() async throws {
        let server = try TestNATSServer()
        let directory = server.directory()
        let log = EventLog(directory)
        _ = try #require(await log.events { $0 == .synchronized })
        let other = NATSDirectory(server.configuration(secret: "the secret of another cluster"))
        let foreign = EventLog(other)
        _ = try #require(await foreign.events { $0 == .synchronized })
        _ = try await other.write(.revocation(TokenRevocation(token: "t", lifetime: 1)), replacing: nil)
        let isRejection: (DirectoryEvent) -> Bool = { if case .rejected = $0 { true } else { false } }
        let events = try #require(await log.events(until: isRejection))
        #expect(events.count == 3)
        let failure = await error { () throws(DirectoryError) in
            try await directory.write(.revocation(TokenRevocation(token: "", lifetime: 1)), replacing: nil)
        }
        #expect(failure == .invalid)
        await directory.close()
        await other.close()
    }

    @Test("wrong credentials are reported without them, and right ones connect")
    func credentials() async throws {
        let server = try TestNATSServer(["--user", "pcast", "--pass", "correct-password"])
        let wrong = NATSDirectory(server.configuration(user: "pcast:wrong-password@"))
        let events = try #require(
            await EventLog(wrong).events { if case .disconnected = $0 { true } else { false } })
        let text = "\(events)"
        #expect(text.contains("uthoriz") && !text.contains("wrong-password"), "\(text)")
        await wrong.close()
        let right = NATSDirectory(server.configuration(user: "pcast:correct-password@"))
        #expect(try await EventLog(right).events { $0 == .synchronized } != nil)
        await right.close()
    }

    @Test(
        "TLS verifies the certificate of the server",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "openssl is not installed"))
    func security() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (certificate, key) = ("\(folder)/certificate.pem", "\(folder)/key.pem")
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", certificate, "-keyout", key,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
        let server = try TestNATSServer(["--tls", "--tlscert", certificate, "--tlskey", key])
        let trusting = NATSDirectory(server.secureConfiguration(authority: certificate))
        #expect(try await EventLog(trusting).events { $0 == .synchronized } != nil)
        await trusting.close()
        let other = NATSDirectory(server.secureConfiguration(authority: nil))
        let events = try #require(
            await EventLog(other).events { if case .disconnected = $0 { true } else { false } })
        #expect(events.count == 1, "\(events)")
        await other.close()
    }
}

import Foundation
import Glibc
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastTestSupport
import Synchronization

/// A cluster of three nodes with NATS, and its clients. Each is a process in a network namespace of its own, behind a
/// link of this program. Streams are published at the node `a`, and viewers are at `b` and `c`.
final class ClusterTestbed: Sendable {
    /// A node, whose number is that of its host.
    enum Node: Int, CaseIterable, Sendable {
        case a, b, c

        var name: String { "\(self)" }
        var address: IPAddress { TunneledHost.address(UInt8(rawValue + 1)) }
        var uri: String { "http://\(address):\(ClusterTestbed.webPort)" }
    }

    struct Options: Sendable {
        var storage = NATSServer.Storage.folder
        /// The node whose clock is five minutes fast; nil for none.
        var fastNode: Node?
    }

    private static let webPort = 8_080
    /// The numbers of the hosts that are no nodes.
    static let natsHost = 3
    private static let publishersHost = 4
    private static let viewersHost = 5
    static let stream = "show"
    /// The program that changes the clock of another one.
    static let clockProgram = "faketime"

    let network: TunneledNetwork
    let nats: NATSServer
    private let options: Options
    private let folder: String
    private let secret: String
    private let clusterSecret: String
    private let nodes = Mutex<[Node: RecordedProcess]>([:])

    /// Creates the network and starts NATS and the nodes; returns when the nodes listen. Throws `BenchFailure` if one of
    /// them fails.
    init(_ options: Options) async throws {
        self.options = options
        secret = FanOutSetup.randomSecret()
        clusterSecret = FanOutSetup.randomSecret()
        folder = NSTemporaryDirectory() + "pcast-bench-\(UUID().uuidString)"
        network = try TunneledNetwork(Array(repeating: TunneledNetwork.Plan(), count: Self.viewersHost + 1))
        do {
            try network.forwardBetweenHosts()
            try FileManager.default.createDirectory(atPath: "\(folder)/nats", withIntermediateDirectories: true)
            let declaration = "streams:\n  \(Self.stream):\n    standby: true\n    capabilities: streaming\n"
            try declaration.write(toFile: "\(folder)/pcast.yaml", atomically: true, encoding: .utf8)
            nats = try NATSServer(
                in: network.hosts[Self.natsHost], address: TunneledHost.address(UInt8(Self.natsHost + 1)),
                folder: "\(folder)/nats", storage: options.storage)
        } catch {
            network.stop()
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
        do {
            for node in Node.allCases { try await start(node) }
        } catch {
            stop()
            throw error
        }
    }

    /// Ends all processes, and removes the network.
    func stop() {
        for node in Node.allCases { kill(node) }
        nats.terminateAtOnce()
        network.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Nodes

    /// Starts a node, and returns when it listens. Throws `BenchFailure` if it does not.
    func start(_ node: Node) async throws {
        let environment = [
            "PCAST_SERVE_APPLICATION": "bench:\(secret)", "PCAST_SERVE_CLUSTER_SECRET": clusterSecret,
        ]
        let process = try RecordedProcess(
            [
                "serve", "--config", "\(folder)/pcast.yaml", "--listen", "0.0.0.0:\(Self.webPort)", "--rtc-port",
                "8189",
                "--advertise", "\(node.address)", "--cluster",
                "nats://\(TunneledHost.address(UInt8(Self.natsHost + 1))):\(NATSServer.port)", "--node", node.name,
                "--region", "bench", "--cluster-address", node.uri,
            ], environment: environment, in: network.hosts[node.rawValue],
            behind: options.fastNode == node ? Self.fastClock : [])
        nodes.withLock { $0[node] = process }
        _ = try await process.first("listening")
    }

    /// Kills the process of a node.
    func kill(_ node: Node) {
        guard let process = nodes.withLock({ $0.removeValue(forKey: node) }) else { return }
        process.terminateAtOnce()
        if options.fastNode == node { Self.removeSharedClock(of: process.processID) }
    }

    /// The command that runs a program whose time of day is five minutes fast. Only the library of `faketime` is not enough:
    /// it changes the environment when it is loaded, after which Swift does not find the arguments of the program.
    /// `faketime` runs the program as its child, which `setpriv` ends together with it.
    private static let fastClock = [
        clockProgram, "-m", "--exclude-monotonic", "-f", "+5m", "setpriv", "--pdeathsig", "KILL",
    ]

    /// Removes the shared memory of a `faketime` process that was killed.
    private static func removeSharedClock(of process: Int32) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] { unlink("/dev/shm/\(name)\(process)") }
    }

    /// Stops the process of a node as a supervisor does, and kills it after ten seconds.
    func stop(_ node: Node) {
        nodes.withLock { $0.removeValue(forKey: node) }?.stop(within: .seconds(10 as Int64))
    }

    /// Drains a node. Throws `BenchFailure` if the node refuses the request.
    func drain(_ node: Node) throws {
        let request =
            "POST /pcast/nodes/\(node.name)/drain HTTP/1.1\\r\\nHost: 127.0.0.1:\(Self.webPort)\\r\\n"
            + "Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"
        // Only programs of the same host may drain a node.
        let command =
            network.hosts[node.rawValue].prefix + [
                "timeout", "5", "bash", "-c",
                "exec 3<>/dev/tcp/127.0.0.1/\(Self.webPort) && printf '\(request)' >&3 && "
                    + "{ head -n 1 <&3 | grep -q ' 200 ' || { echo 'the node did not answer with 200' >&2; false; }; }",
            ]
        try SystemProgram.run(command[0], Array(command.dropFirst()))
    }

    /// Changes the link of a node in both directions.
    func change(_ node: Node, _ change: (_ up: inout LinkConditions, _ down: inout LinkConditions) -> Void) {
        network.change(node.rawValue) { host in
            var up = host.up.conditions
            var down = host.down.conditions
            change(&up, &down)
            host.up.conditions = up
            host.down.conditions = down
        }
    }

    // MARK: Clients

    private var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId("bench").withSecret(secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
    }

    /// Starts a publisher that connects to the nodes in this order; returns when it is connected. Publishers that run at
    /// the same time have different numbers. Throws `BenchFailure` if it does not connect.
    func publish(at nodes: [Node], number: Int = 0) async throws -> RecordedProcess {
        let token = try builder.forPublishingOnly().applyTag("name:\(Self.stream)").withCapability("streaming").build()
        let process = try startClients(
            nodes, ["--viewers", "0"], token: token, on: Self.publishersHost, port: 20_000 + number * 1_000)
        return try await Self.await("publishing", of: process)
    }

    /// The protocol of viewers.
    enum ViewerProtocol: Sendable { case whep, hls }

    /// Starts viewers that begin at the first nodes, their homes; returns when all receive video. Viewers by WHEP that run at
    /// the same time have different numbers. Throws `BenchFailure` if one of them receives none.
    func watch(
        _ viewers: Int, by viewerProtocol: ViewerProtocol = .whep, at nodes: [Node], homes: Int, number: Int = 0
    ) async throws -> RecordedProcess {
        let token = try builder.forOriginStream(Self.stream).forStreamingOnly().build()
        let process = try startClients(
            nodes, ["--viewers", "\(viewers)", "--homes", "\(homes)"] + (viewerProtocol == .hls ? ["--hls"] : []),
            token: token,
            on: Self.viewersHost, port: 20_000 + number * 1_000)
        return try await Self.await("watching", of: process)
    }

    /// The script of a viewer in Chromium.
    static let browserScript = "watch_nodes_chromium.py"

    /// Starts a viewer in Chromium, which uses WHEP and connects to the nodes in this order; returns when it receives video.
    /// It runs until it is requested to finish, or for `limit`. Throws `BenchFailure` if it receives none.
    func watchInBrowser(at nodes: [Node], atMost limit: Duration) async throws -> ChromiumPeer {
        let token = try builder.forOriginStream(Self.stream).forStreamingOnly().build()
        let origin = (nodes.first ?? .a).uri
        let browser = try ChromiumPeer(
            Self.browserScript,
            [
                origin, "--stream", Self.stream, "--token", token, "--nodes",
                nodes.map(\.uri).joined(separator: ","), "--seconds", "0", "--until-told",
                "--limit", "\(limit.components.seconds)",
            ], origin: origin, in: network.hosts[Self.viewersHost], endsByItself: false)
        do {
            // Reading blocks.
            try await Task.detached { try browser.wait(for: "watching") }.value
            return browser
        } catch {
            browser.stop()
            throw error
        }
    }

    private func startClients(
        _ nodes: [Node], _ arguments: [String], token: String, on host: Int, port: Int
    ) throws -> RecordedProcess {
        let address = TunneledHost.address(UInt8(host + 1))
        return try RecordedProcess(
            [
                "cluster-clients", "--nodes", nodes.map(\.uri).joined(separator: ","), "--stream", Self.stream,
                "--from",
                "\(address):\(port)",
            ] + arguments, of: "pcast-bench", environment: [LightViewersCommand.tokenVariable: token],
            in: network.hosts[host])
    }

    private static func await(_ name: String, of process: RecordedProcess) async throws -> RecordedProcess {
        do {
            _ = try await process.first(name, within: .seconds(70 as Int64))
            return process
        } catch {
            process.terminateAtOnce()
            throw error
        }
    }
}

import Foundation
import Logging
import PCastCluster
import PCastCore
import PCastIO
import PCastSFU
import PCastWeb
import Synchronization

/// The configuration of a node of a cluster.
public struct ClusterConfiguration: Hashable, Sendable {
    /// The NATS servers, such as `nats://a.example.com` or `tls://user:password@b.example.com:4222`.
    public var servers: [String]
    /// The name of this node, which no other node has.
    public var node: String
    /// The region of this node, such as `eu-west`; empty for none.
    public var region = ""
    /// The secret of the cluster, which signs the values in the directory. All nodes have the same one.
    public var secret: String
    /// The URI at which clients and other nodes reach this node; nil for that of the HTTP server.
    public var address: String?
    /// The credentials file of a NATS user; nil for the credentials in the URIs, or none.
    public var credentialsFile: String?
    /// The PEM file of the authority that signs the certificates of the NATS servers; nil for those of the system.
    public var authorityFile: String?

    /// The minimum number of bytes of a secret.
    public static let minimumSecretLength = ClusterRecordCoding.minimumSecretLength

    /// Creates a configuration.
    public init(servers: [String], node: String, secret: String) {
        self.servers = servers
        self.node = node
        self.secret = secret
    }
}

extension ClusterConfiguration: CustomStringConvertible {
    /// The name of the node without credentials.
    public var description: String { "node \(node)" }
}

/// This platform as a node of a cluster: it announces its streams and its load, and selects nodes for clients.
final class ClusterService: Sendable {
    let cluster: Cluster
    /// The data that this node shares with the others; nil before it is created.
    let persistence = Setting<ClusterPersistence?>(nil)
    /// The server for RTMP publishers, whose clients a drained node moves; nil before its ports are open.
    private let rtmp = Setting<RTMPService?>(nil)
    private let configuration: ClusterConfiguration
    private let conflicts = Atomic(0)
    private let rejected = Atomic(0)
    private let streams: StreamDirectory
    private let sessions: SessionRegistry
    private let capacity: Int
    private let logger: Logger

    /// The interval in which changes of the streams are announced.
    private static let interval = Duration.milliseconds(100)
    /// The number of those intervals after which the load is measured.
    private static let loadPeriod = 20
    /// The maximum number of viewers, of sessions of the PCast protocol, and of RTMP clients, that a drained node moves in an
    /// interval; and the time after which it ends their viewings.
    private static let movedViewers = 10
    private static let moveTime = TimeSpan.seconds(3 as Int64)
    /// The maximum number of nodes that a client receives.
    private static let maximumEndPoints = 5

    /// Creates the node. `directory` is another one than that in NATS.
    init(
        _ configuration: ClusterConfiguration, directory: (any ClusterDirectory)? = nil,
        timing: ClusterMember.Timing = ClusterMember.Timing(), streams: StreamDirectory, sessions: SessionRegistry,
        capacity: Int, logger: Logger
    ) {
        self.configuration = configuration
        self.streams = streams
        self.sessions = sessions
        self.capacity = capacity
        self.logger = logger
        // Paths are appended to the address.
        let address = configuration.address.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? ""
        let node = ClusterNode(
            name: configuration.node, incarnation: .random(in: .min ... .max), address: address,
            region: configuration.region, load: NodeLoad(capacity: capacity))
        cluster = Cluster(node, directory: directory ?? Self.directory(configuration), timing: timing)
    }

    private static func directory(_ configuration: ClusterConfiguration) -> NATSDirectory {
        var nats = NATSConfiguration(servers: configuration.servers, secret: configuration.secret)
        nats.credentialsFile = configuration.credentialsFile
        nats.authorityFile = configuration.authorityFile
        return NATSDirectory(nats)
    }

    /// Sets the URI of the HTTP server, which is announced unless the configuration has another one.
    func listens(at uri: String) { if configuration.address == nil { cluster.setAddress(uri) } }

    /// Announces the ports of a server for RTMP publishers, which connect again at other nodes when this one drains.
    func serves(_ rtmp: RTMPService, at listening: RTMPListening) {
        self.rtmp.value = rtmp
        cluster.setRTMPPorts(listening.port, tls: listening.tlsPort)
    }

    /// Runs until the task is cancelled. Then it removes the announcements of this node.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [cluster] in await cluster.run() }
            group.addTask { [self] in for await event in cluster.events { await handle(event) } }
            group.addTask { [self] in await announce() }
        }
    }

    // MARK: Announcements

    private func announce() async {
        var announced: [String: ClusterStream] = [:]
        var meter = LoadMeter()
        var step = 0
        // The time since which viewers are moved. Those that stayed in an earlier drain are requested to move again.
        var movingSince: Instant?
        repeat {
            let current = await streams.clusterStreams
            for (name, stream) in announced where current[name]?.stream != stream.stream {
                cluster.end(name, stream: stream.stream)
            }
            for (name, stream) in current where announced[name] != stream {
                // Two encoders may publish a declared name at two nodes. All other identifiers exist once.
                cluster.publish(stream, stream.name == stream.stream ? .takeOver : .standby)
            }
            announced = current
            if redirectionOfDrainedNode() != nil {
                let since = movingSince ?? MonotonicClock.now()
                movingSince = since
                await streams.moveViewers(since: since, atMost: Self.movedViewers, endingAfter: Self.moveTime)
                let left = await sessions.move(
                    since: since, atMost: Self.movedViewers, endingAfter: Self.moveTime, at: MonotonicClock.now())
                for viewing in left { await streams.end(viewing, reason: .maintenance, description: "") }
                moveRTMPClients(since: since)
            } else {
                movingSince = nil
            }
            if step % Self.loadPeriod == 0 { cluster.setLoad(await meter.load(of: streams, capacity: capacity)) }
            step += 1
        } while (try? await Task.sleep(for: Self.interval)) != nil
    }

    /// Requests RTMP clients to connect again at another node that has a port for them. They continue here until they close
    /// the connection.
    private func moveRTMPClients(since: Instant) {
        guard let rtmp = rtmp.value else { return }
        let others = candidates().filter { $0.name != configuration.node }
        let address = others.lazy.compactMap { Self.rtmpAddress(of: $0, isSecure: false) }.first
        let secureAddress = others.lazy.compactMap { Self.rtmpAddress(of: $0, isSecure: true) }.first
        rtmp.requestReconnects(
            to: address, orSecurelyTo: secureAddress, since: since, atMost: Self.movedViewers, at: MonotonicClock.now())
    }

    /// Returns the address at which RTMP clients publish to a node; nil if it has no port for them.
    static func rtmpAddress(of node: ClusterNode, isSecure: Bool) -> String? {
        guard let port = isSecure ? node.rtmpsPort : node.rtmpPort, let web = try? WebAddress(node.address) else {
            return nil
        }
        let host = web.host.contains(":") ? "[\(web.host)]" : web.host
        return "\(isSecure ? "rtmps" : "rtmp")://\(host):\(port)/\(RTMPService.application)"
    }

    private func handle(_ event: ClusterEvent) async {
        switch event {
        case .connected: logger.notice("the directory of the cluster is connected")
        case .disconnected(let reason):
            logger.warning(
                "the directory of the cluster is disconnected; this node continues to serve",
                metadata: ["reason": "\(reason)"])
        case .nodeAppeared(let name): logger.notice("a node joined", metadata: ["node": "\(name)"])
        case .nodeLost(let name): logger.warning("a node does not renew its lease", metadata: ["node": "\(name)"])
        case .announced(let name, let epoch):
            logger.debug("a stream is announced", metadata: ["stream": "\(name)", "epoch": "\(epoch)"])
        case .fenced(let name, _, let node) where ClusterStream.isTimelineHome(name):
            logger.notice("another node is the home of the timeline", metadata: ["node": "\(node)"])
        case .fenced(let name, let stream, let node) where ClusterStream.isRoomHome(name):
            logger.notice("another node is the home of the room", metadata: ["room": "\(stream)", "node": "\(node)"])
        case .fenced(let name, let stream, let node):
            logger.warning("another node publishes the stream now", metadata: ["stream": "\(name)", "node": "\(node)"])
            conflicts.add(1, ordering: .relaxed)
            // A publication of a declared name waits until the other one ends. All others end.
            if name == stream { _ = await streams.end(StreamID(stream), reason: .ended, description: "") }
        case .superseded:
            logger.error(
                "another process has the name of this node, which announces nothing more: give each node its own --node",
                metadata: ["node": "\(configuration.node)"])
        case .drainRequested: drain()
        case .revoked(let key): await streams.endAccess(by: key, sessions: sessions)
        case .valuesChanged: persistence.value?.wake()
        case .rejected(let reason):
            logger.warning("a value of the directory is rejected", metadata: ["reason": "\(reason)"])
            rejected.add(1, ordering: .relaxed)
        case .failed(let reason):
            logger.debug("a request of the directory failed and is repeated", metadata: ["reason": "\(reason)"])
        }
    }

    /// The state of the directory, and the numbers of its faults since the start.
    struct Counts: Hashable, Sendable {
        var isConnected: Bool
        var nodes: Int
        /// The names that another node has claimed while this node had a publication.
        var conflicts: Int
        /// The values with another secret, or that are invalid.
        var rejected: Int
    }

    var counts: Counts {
        Counts(
            isConnected: cluster.isConnected, nodes: cluster.nodes.count,
            conflicts: conflicts.load(ordering: .relaxed), rejected: rejected.load(ordering: .relaxed))
    }

    /// Accepts no new clients as long as another node can.
    private func drain() {
        cluster.setDraining(true)
        logger.notice("the node drains: new clients are sent to other nodes")
    }

    /// Requests a node to drain. Returns false if there is no such node.
    func drain(_ name: String) -> Bool {
        guard name != configuration.node else {
            drain()
            return true
        }
        return cluster.requestDrain(of: name)
    }

    // MARK: Selection

    /// Whether new clients are sent to other nodes.
    var isDraining: Bool { cluster.node.isDraining }

    /// Returns the URIs of the nodes that accept clients, the best one first: those of the region, and among them those
    /// with the smallest share of used resources. `region` is that of the client; nil for the region of this node.
    func endPoints(region: String?) -> [String] { candidates(region: region).map(\.address) }

    private func candidates(region: String? = nil) -> some Collection<ClusterNode> {
        Self.order(cluster.nodes, region: region ?? configuration.region).prefix(Self.maximumEndPoints)
    }

    /// Returns the nodes that accept clients, the best one first.
    static func order(_ nodes: [ClusterNode], region: String) -> [ClusterNode] {
        nodes.filter { !$0.isDraining && !$0.load.isFull && !$0.address.isEmpty }
            .sorted { left, right in
                let isLeftFar = left.region != region
                let isRightFar = right.region != region
                if isLeftFar != isRightFar { return isRightFar }
                return (left.load.share, left.name) < (right.load.share, right.name)
            }
    }

    /// Returns the URI of another node for a client that this node does not serve, because it drains; nil if it does not,
    /// or if no other node accepts clients.
    func redirectionOfDrainedNode() -> String? { isDraining ? otherNode() : nil }

    /// Returns the URI of another node for a new session, because this node has no place for its streams; nil if it has one,
    /// or if no other node accepts clients.
    func redirectionOfFullNode() -> String? { cluster.node.load.isFull ? otherNode() : nil }

    /// Returns the URI of the signaling WebSocket at a node with this URI.
    static func webSocket(of node: String) -> String {
        let scheme = "http"
        let uri = node.hasPrefix(scheme) ? "ws" + node.dropFirst(scheme.utf8.count) : node
        return uri + PlatformComponents.webSocketPath
    }

    /// Returns the URI of another node for a client that this node rejects; nil if none can serve the client.
    func redirection(after error: APIError, requesting stream: StreamID?) -> String? {
        switch error.kind {
        case .capacity: error.isOfClientLimit ? nil : otherNode()
        case .noStreamPlaying, .gone, .notReady:
            stream.flatMap { ClusterStream.isRoomHome($0.description) ? nil : cluster.origin(of: $0)?.address }
        default: nil
        }
    }

    private func otherNode() -> String? {
        candidates().first { $0.name != configuration.node }?.address
    }
}

/// The origins of streams according to the directory of the cluster, and then those of the configuration.
struct ClusterOrigins: StreamOrigins {
    let cluster: Cluster
    let fixed: FixedOrigins

    /// Returns the node that publishes a stream, and those at which another publication of it stands by. This node is
    /// included if it has a publication. It answers from memory, also while the directory is disconnected.
    func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin] {
        let own = cluster.node.name
        guard !ClusterStream.isRoomHome(stream.description) else { return [] }
        let known = cluster.origins(of: stream).filter { $0.node == own || !$0.address.isEmpty }
        guard !known.isEmpty else { return await fixed.origins(of: stream, application: application) }
        return known.map { origin in
            var other = StreamOrigin(uri: origin.address, epoch: origin.epoch.number)
            (other.isThisNode, other.claim) = (origin.node == own, origin.epoch.claim)
            return other
        }
    }
}

/// Measures the load of this process between two calls.
private struct LoadMeter {
    private var last: (time: Instant, processor: Double, bytes: Int)?

    mutating func load(of streams: StreamDirectory, capacity: Int) async -> NodeLoad {
        let counts = await streams.counts
        var load = NodeLoad(streams: counts.streams, viewers: counts.viewers, capacity: capacity)
        let now = MonotonicClock.now()
        let processor = ProcessMetrics.read()?.processorTime ?? 0
        let bytes = await streams.router.streamMetrics().reduce(0) { $0 + $1.sent.bytes }
        if let last, now > last.time {
            let seconds = (now - last.time).seconds
            let processors = Double(ProcessInfo.processInfo.activeProcessorCount)
            load.processor = min(max((processor - last.processor) / seconds / processors, 0), 1)
            // The count is smaller after a stream has ended.
            load.egress = UInt64(Double(max(bytes - last.bytes, 0)) * 8 / seconds)
        }
        last = (now, processor, bytes)
        return load
    }
}

extension StreamDirectory {
    /// The streams of this node that viewers of other nodes may request, by the name or identifier that they request.
    var clusterStreams: [String: ClusterStream] {
        var all: [String: ClusterStream] = [:]
        for stream in registry.streams.values
        where registry.isAvailable(stream) && !stream.place.isPublisher && !stream.place.isChannel && !stream.isPulled {
            var name = stream.id.description
            if case .named(let declared) = stream.place { name = declared }
            all[name] = ClusterStream(
                name: name, stream: stream.id.description, application: stream.application.description,
                tags: stream.authorizingTags, codecs: stream.codecs.map { "\($0)" })
        }
        return all
    }
}

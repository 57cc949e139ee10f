import PCastCore
import PCastIO
import PCastWebRTC

/// Discovers the public address of the media port by STUN before the SFU binds the port (RFC 8489).
///
/// Each server is queried from the media port itself, so that the response contains the address and port that a NAT
/// assigned to it. While the platform runs, `MediaRouter.followPublicAddress` queries the servers from another port.
struct AddressDiscovery: DatagramMachine {
    private var questions: [STUNDiscovery]

    /// The maximum number of servers to query.
    private static let maximumServers = 4

    /// The timeout after which the platform starts with the addresses known so far.
    private static let timeout = TimeSpan.seconds(3)

    init(servers: [TransportAddress], from local: TransportAddress, seed: UInt64, at now: Instant) {
        questions = servers.prefix(Self.maximumServers).enumerated().map { index, server in
            STUNDiscovery(
                path: NetworkPath(local: local, remote: server), seed: seed &+ UInt64(index), at: now)
        }
    }

    var isComplete: Bool { questions.allSatisfy { $0.publicAddress != nil || $0.hasFailed } }

    var addresses: [TransportAddress] { questions.compactMap(\.publicAddress) }

    mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        guard let message = STUNMessage.parse(datagram.span) else { return }
        for index in questions.indices where questions[index].handle(message, from: path) { return }
    }

    mutating func advance(to now: Instant) {
        for index in questions.indices { questions[index].advance(to: now) }
    }

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        for index in questions.indices {
            guard let buffer = batch.reserve() else { return true }
            guard let length = questions[index].poll(into: buffer, at: now) else { continue }
            batch.commit(length: length, to: questions[index].path)
        }
        return false
    }

    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

    var deadline: Instant? {
        questions.reduce(nil) { Instant.earlier($0, $1.deadline) }
    }

    /// Returns the public addresses after later responses, which contain IP addresses of which the ports have no meaning.
    ///
    /// A response that is missing removes nothing, because it may be lost. A new IP address replaces all. Its port is the
    /// one that the NAT had assigned to the media port, or the media port itself, which a router forwards.
    static func update(
        _ known: [TransportAddress], answers: [IPAddress], rtcPort: UInt16
    ) -> [TransportAddress] {
        guard answers.contains(where: { answer in !known.contains { $0.ip == answer } }) else { return known }
        var updated: [TransportAddress] = []
        for ip in answers where !updated.contains(where: { $0.ip == ip }) {
            updated.append(TransportAddress(ip: ip, port: known.first?.port ?? rtcPort))
        }
        return updated
    }

    /// Queries the servers until all have responded, for three seconds at most. Returns the distinct public addresses.
    static func run(servers: [TransportAddress], port: UInt16, family: IPAddress.Family) async -> [TransportAddress] {
        let reachable = servers.filter { $0.ip.family == family }
        guard !reachable.isEmpty else { return [] }
        let wildcard = family == .v4 ? IPAddress.anyV4 : IPAddress(v6: 0, 0)
        let (finished, finish) = AsyncStream<[TransportAddress]>.makeStream()
        let seed = UInt64.random(in: 0...UInt64.max)
        let loop = try? EventLoop(
            name: "pcast-stun", listen: [TransportAddress(ip: wildcard, port: port)], tcpListen: false,
            makeMachine: { bound in
                AddressDiscovery(servers: reachable, from: bound[0], seed: seed, at: MonotonicClock.now())
            },
            afterIteration: { (discovery: inout AddressDiscovery, _) in
                if discovery.isComplete { finish.yield(discovery.addresses) }
            })
        guard let loop else { return [] }
        defer { loop.stop() }
        let expiry = Task {
            try await Task.sleep(for: timeout.duration)
            let known = (try? await loop.call { discovery, _ in discovery.addresses }) ?? []
            finish.yield(known)
        }
        defer { expiry.cancel() }
        var found: [TransportAddress] = []
        for await addresses in finished {
            for address in addresses where !found.contains(address) { found.append(address) }
            break
        }
        return found
    }
}

/// The times at which the public address is requested again: at an interval, and earlier and less and less often while no
/// server responds.
struct PublicAddressSchedule: Sendable {
    private static let firstRetry = TimeSpan.seconds(5)

    private let interval: TimeSpan
    private var retry: TimeSpan?

    init(interval: TimeSpan) { self.interval = interval }

    /// Notes the result of a query.
    mutating func queried(isAnswered: Bool) {
        retry = isAnswered ? nil : min(interval, retry.map { $0 * 2 } ?? Self.firstRetry)
    }

    /// Returns the time until the next query. `isKnown` is whether a server has ever responded.
    func next(isKnown: Bool) -> TimeSpan { retry ?? (isKnown ? interval : min(interval, Self.firstRetry)) }
}

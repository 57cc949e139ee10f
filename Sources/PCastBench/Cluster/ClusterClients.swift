import Foundation
import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// The nodes at which the clients of `pcast-bench cluster` request a stream, and the token.
struct ClusterEndpoint: Sendable {
    /// The URIs of the nodes, in the order in which clients try them.
    let nodes: [String]
    let stream: String
    let token: String

    /// The time between two attempts to connect.
    static let retryDelay = Duration.milliseconds(100)
    /// The time within which a node must respond.
    static let timeout = Duration.seconds(2)

    /// An accepted session of a client.
    struct Session: Sendable {
        let answer: SessionDescription
        let events: SessionEvents
    }

    /// Sends an offer to a node, which may redirect the request to another one. `path` is `/whip` or `/whep`. Throws
    /// `BenchFailure` if it is refused, `WebError` if the node does not respond, or `SDPError`.
    func post(_ offer: SessionDescription, to path: String, node: Int) async throws -> Session {
        // The token is in the address, because clients do not send the header `Authorization` to another host.
        let encoded = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? token
        let uri = "\(nodes[node])\(path)/\(stream)?token=\(encoded)"
        let answer = try await HTTPRequests.send(
            "POST", uri, headers: [("Content-Type", "application/sdp")], body: Array(offer.text.utf8),
            within: Self.timeout)
        let text = String(decoding: answer.body, as: UTF8.self)
        guard answer.status == 201, let location = answer.location else {
            throw BenchFailure("\(path) answered \(answer.status): \(text)")
        }
        let resource = URIReference(location).resolved(against: URIReference(answer.redirectedURI ?? uri)).text
        return Session(
            answer: try SessionDescription(parsing: text), events: SessionEvents("\(resource)/events"))
    }
}

/// Viewers that connect to another node when their node ends the session, closes the connection or sends no video.
final class ClusterViewers: Sendable {
    private let endpoint: ClusterEndpoint
    /// The number of nodes, from the first one, at which the viewers begin.
    private let homes: Int
    private let loop: EventLoop<LightViewerGroup>
    private let clock = MonotonicClock.reference()
    private let certificate: DTLSCertificate
    private let gaps: [VideoGap]
    private let joins = Atomic<Int>(0)
    private let rejoinCount = Atomic<Int>(0)
    /// The error of the last attempt to join, for a report that no video arrives.
    private let lastError = Mutex("none")

    /// The time without video after which a viewer connects to another node.
    private static let longestSilence = TimeSpan.seconds(1 as Int64)
    /// The same for the first video of a viewer, which waits for its session to be set up, as on a busy machine.
    private static let longestSetup = TimeSpan.seconds(10 as Int64)
    private static let interval = Duration.milliseconds(20)
    /// The number of sockets, which are used in turn.
    private static let sockets = 200

    /// Creates viewers. Their sockets have consecutive ports from `first` on. Throws an error if a socket cannot be
    /// created.
    init(_ count: Int, at endpoint: ClusterEndpoint, homes: Int, from first: TransportAddress) throws {
        self.endpoint = endpoint
        self.homes = homes
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        gaps = (0..<count).map { _ in VideoGap() }
        loop = try EventLoop(
            name: "viewers",
            listen: (0..<Self.sockets).map { TransportAddress(ip: first.ip, port: first.port + UInt16($0)) },
            tcpListen: false, makeMachine: { _ in LightViewerGroup() }, afterIteration: { _, _ in })
    }

    /// The number of times that a viewer left a node.
    var rejoins: Int { rejoinCount.load(ordering: .relaxed) }

    /// The smallest number of frames of a viewer since `begin()`.
    var fewestFrames: Int { gaps.map(\.frames).min() ?? 0 }

    /// Returns the longest time without video of each viewer since `begin()`; nil for one that never had video.
    func longestGaps() -> [TimeSpan?] {
        let now = MonotonicClock.now()
        return gaps.map { $0.longest(until: now) }
    }

    func begin() {
        for gap in gaps { gap.begin() }
        rejoinCount.store(0, ordering: .relaxed)
    }

    /// Waits until all viewers receive video. Throws `BenchFailure` if they do not in time.
    func waitUntilWatching(within limit: TimeSpan) async throws {
        let end = MonotonicClock.now() + limit
        while gaps.contains(where: { $0.frames == 0 }) {
            guard MonotonicClock.now() < end else {
                let count = gaps.count { $0.frames > 0 }
                let reason = lastError.withLock(\.self)
                throw BenchFailure("only \(count) of \(gaps.count) viewers receive video; the last error: \(reason)")
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    /// Watches until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for number in gaps.indices { group.addTask { await self.watch(number) } }
        }
    }

    func leave() {
        try? loop.submit { viewers, now in viewers.close(at: now) }
        loop.stop()
    }

    private func watch(_ number: Int) async {
        let gap = gaps[number]
        var node = number % homes
        var former: Int?
        while !Task.isCancelled {
            let session: (number: Int, events: SessionEvents)
            do {
                session = try await join(node, gap)
            } catch {
                lastError.withLock { $0 = "\(error)" }
                // A viewer without video stays at its node until the stream begins.
                if gap.silence(at: MonotonicClock.now()) != nil { node = (node + 1) % endpoint.nodes.count }
                try? await Task.sleep(for: ClusterEndpoint.retryDelay)
                continue
            }
            let end = await observe(session, gap, leaving: former)
            lastError.withLock { $0 = "a session at \(endpoint.nodes[node]) was left: \(end.reason)" }
            rejoinCount.add(1, ordering: .relaxed)
            if end.hadVideo {
                former = session.number
            } else {
                // It does not replace the former session.
                let number = session.number
                try? loop.submit { viewers, now in viewers.close(number, at: now) }
            }
            if end.reason != .ended { node = (node + 1) % endpoint.nodes.count }
        }
    }

    /// Connects to a node. Returns the number of the peer, and the events of the session.
    private func join(_ node: Int, _ gap: VideoGap) async throws -> (number: Int, events: SessionEvents) {
        let requestedAt = MonotonicClock.now()
        var generator = SystemRandomNumberGenerator()
        let own = LightViewerOffer(certificate: certificate, wantsAudio: false, using: &generator)
        let session = try await endpoint.post(own.offer.description, to: "/whep", node: node)
        let address = loop.boundAddresses[joins.add(1, ordering: .relaxed).oldValue % Self.sockets]
        let added = try await loop.call { [clock] viewers, now -> Result<Int, SDPError> in
            do throws(SDPError) {
                let viewer = try LightViewer(
                    own, answer: session.answer, address: address, clock: clock, requestedAt: requestedAt, at: now)
                viewer.gap = gap
                viewers.add(viewer, at: address)
                return .success(viewers.peers.count - 1)
            } catch {
                return .failure(error)
            }
        }
        return (try added.get(), session.events)
    }

    /// Waits until the viewer must connect again. Returns the reason, and whether the session had video. The former session
    /// ends when the new one has video.
    private func observe(
        _ session: (number: Int, events: SessionEvents), _ gap: VideoGap, leaving former: Int?
    ) async -> (reason: SessionEvents.End, hadVideo: Bool) {
        let start = MonotonicClock.now()
        let number = session.number
        var hasVideo = false
        while (try? await Task.sleep(for: Self.interval)) != nil {
            if let end = session.events.end { return (end, hasVideo) }
            if !hasVideo, (try? await loop.call { viewers, _ in viewers.peers[number].firstFrame != nil }) == true {
                hasVideo = true
                if let former { try? loop.submit { viewers, now in viewers.close(former, at: now) } }
            }
            let now = MonotonicClock.now()
            let silence = hasVideo ? gap.silence(at: now) ?? .zero : now - start
            let isFirst = gap.silence(at: now) == nil
            if silence > (isFirst ? Self.longestSetup : Self.longestSilence) { return (.closed, hasVideo) }
        }
        return (.closed, hasVideo)
    }
}

/// A publisher of recorded video that connects to another node when its node ends the session or closes the connection.
final class ClusterPublisher: Sendable {
    private let endpoint: ClusterEndpoint
    private let profile: TrafficProfile
    private let loop: EventLoop<LoadGenerator<LightPublisher>>
    private let clock = MonotonicClock.reference()
    private let certificate: DTLSCertificate
    private let joins = Atomic<Int>(0)

    private static let interval = Duration.milliseconds(20)
    private static let sockets = 100

    /// Creates a publisher. Its sockets have consecutive ports from `first` on. Throws an error if a socket cannot be
    /// created, or the video cannot be encoded.
    init(at endpoint: ClusterEndpoint, from first: TransportAddress) throws {
        self.endpoint = endpoint
        profile = TrafficProfile(try RecordedGroup.testPattern())
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        loop = try EventLoop(
            name: "publisher",
            listen: (0..<Self.sockets).map { TransportAddress(ip: first.ip, port: first.port + UInt16($0)) },
            tcpListen: false, makeMachine: { _ in LoadGenerator<LightPublisher>() }, afterIteration: { _, _ in })
    }

    /// Waits until the publisher is connected. Throws `BenchFailure` if it is not in time.
    func waitUntilConnected(within limit: TimeSpan) async throws {
        let end = MonotonicClock.now() + limit
        while try await !loop.call({ publishers, _ in publishers.peers.contains { $0.isConnected } }) {
            guard MonotonicClock.now() < end else { throw BenchFailure("the publisher did not connect") }
            try await Task.sleep(for: Self.interval)
        }
    }

    /// Publishes until the task is cancelled.
    func run() async {
        var node = 0
        while !Task.isCancelled {
            guard let session = try? await publish(node) else {
                node = (node + 1) % endpoint.nodes.count
                try? await Task.sleep(for: ClusterEndpoint.retryDelay)
                continue
            }
            while session.events.end == nil, (try? await Task.sleep(for: Self.interval)) != nil {}
            let number = session.number
            try? loop.submit { publishers, now in publishers.close(number, at: now) }
            node = (node + 1) % endpoint.nodes.count
        }
    }

    func leave() {
        try? loop.submit { publishers, now in publishers.close(at: now) }
        loop.stop()
    }

    private func publish(_ node: Int) async throws -> (number: Int, events: SessionEvents) {
        var generator = SystemRandomNumberGenerator()
        let own = LightPublisherOffer(certificate: certificate, using: &generator)
        let session = try await endpoint.post(own.offer.description, to: "/whip", node: node)
        let address = loop.boundAddresses[joins.add(1, ordering: .relaxed).oldValue % Self.sockets]
        let added = try await loop.call { [clock, profile] publishers, now -> Result<Int, BenchFailure> in
            do {
                let publisher = try LightPublisher(
                    own, answer: session.answer, address: address, profile: profile, clock: clock, begun: now,
                    at: now)
                publisher.isRunning = true
                publishers.add(publisher, at: address)
                return .success(publishers.peers.count - 1)
            } catch {
                return .failure(BenchFailure("the answer cannot be used: \(error)"))
            }
        }
        return (try added.get(), session.events)
    }
}

import PCastCore
import PCastHLS
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// Light viewers of one stream on one thread, each with its own socket; they join by WHEP.
final class LightViewers: Sendable {
    private let loop: EventLoop<LightViewerGroup>
    private let clock = MonotonicClock.reference()
    private let certificate: DTLSCertificate
    /// The URIs of the WHEP sessions.
    private let sessions = Mutex<[String]>([])

    /// Creates the event loop for `count` viewers at one IP address with consecutive ports. Throws an error if a
    /// certificate or a socket cannot be created.
    init(_ count: Int, from ip: IPAddress, firstPort: UInt16) throws {
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        loop = try EventLoop(
            name: "light", listen: (0..<count).map { TransportAddress(ip: ip, port: firstPort + UInt16($0)) },
            tcpListen: false, makeMachine: { _ in LightViewerGroup() }, afterIteration: { _, _ in })
    }

    /// Lets all viewers join a stream by WHEP, one after the other. `uri` is the base URI of the platform. Throws
    /// `BenchFailure` if a request is refused, `WebError` if it fails, or `SDPError` for an answer that does not match.
    func join(_ stream: StreamID, at uri: String, token: String) async throws {
        try await join("\(uri)/whep/\(stream)", token: token)
    }

    /// Lets all viewers join a stream by a WHEP endpoint of any server, one after the other, without a token if it is nil.
    /// Throws `BenchFailure` if a request is refused, `WebError` if it fails, or `SDPError` for an answer that does not
    /// match.
    func join(_ endpoint: String, token: String?, wantsAudio: Bool = true) async throws {
        for address in loop.boundAddresses {
            try await join(
                endpoint, token: token, wantsAudio: wantsAudio, from: address, requestedAt: MonotonicClock.now())
        }
    }

    /// Lets each viewer join a stream by a WHEP endpoint without a token when the next of `requests` arrives. Its first frame
    /// counts from this time, so the wait for one of the `limit` requests that run at the same time is part of it. Throws
    /// `BenchFailure` if a request is refused, or if `requests` end before; the other errors are those of the function above.
    func join(
        _ endpoint: String, atTimesOf requests: AsyncStream<Instant>, concurrently limit: Int, wantsAudio: Bool = true
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var times = requests.makeAsyncIterator()
            for (number, address) in loop.boundAddresses.enumerated() {
                if number >= limit { try await group.next() }
                guard let time = await times.next() else {
                    throw BenchFailure("only \(number) of \(loop.boundAddresses.count) viewers had a reason to join")
                }
                group.addTask {
                    try await self.join(
                        endpoint, token: nil, wantsAudio: wantsAudio, from: address, requestedAt: time)
                }
            }
            try await group.waitForAll()
        }
    }

    private func join(
        _ endpoint: String, token: String?, wantsAudio: Bool, from address: TransportAddress, requestedAt: Instant
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        let own = LightViewerOffer(certificate: certificate, wantsAudio: wantsAudio, using: &generator)
        let answer = try await HTTPRequests.send(
            "POST", endpoint, headers: Self.authorization(token) + [("Content-Type", "application/sdp")],
            body: Array(own.offer.description.text.utf8))
        let text = String(decoding: answer.body, as: UTF8.self)
        guard answer.status == 201 else { throw BenchFailure("WHEP answered \(answer.status): \(text)") }
        if let location = answer.location {
            let session = URIReference(location).resolved(against: URIReference(endpoint)).text
            sessions.withLock { $0.append(session) }
        }
        let description = try SessionDescription(parsing: text)
        let refusal = try await loop.call { [clock] viewersLoad, now -> SDPError? in
            do throws(SDPError) {
                let viewer = try LightViewer(
                    own, answer: description, address: address, clock: clock, requestedAt: requestedAt, at: now)
                viewersLoad.add(viewer, at: address)
                return nil
            } catch {
                return error
            }
        }
        if let refusal { throw refusal }
    }

    private static func authorization(_ token: String?) -> [(name: String, value: String)] {
        token.map { [("Authorization", "Bearer \($0)")] } ?? []
    }

    /// Deletes the WHEP sessions. A server that does not respond ends them by its own timeouts.
    func deleteSessions(token: String?) async {
        for session in sessions.withLock({ sessions in
            defer { sessions = [] }
            return sessions
        }) {
            _ = try? await HTTPRequests.send("DELETE", session, headers: Self.authorization(token))
        }
    }

    /// Returns the times from the request to the last packet of the first frame, of the viewers that have received one.
    func firstFrameTimes() async throws -> [TimeSpan] {
        try await loop.call { viewersLoad, _ in
            viewersLoad.peers.compactMap { viewer in viewer.firstFrame.map { $0 - viewer.requestedAt } }
        }
    }

    /// Waits until all viewers receive video and audio. Throws `BenchFailure` if they do not in time.
    func waitUntilWatching(within timeout: TimeSpan) async throws {
        let limit = MonotonicClock.now() + timeout
        while true {
            let metrics = try await metrics()
            if metrics.watching == loop.boundAddresses.count { return }
            guard MonotonicClock.now() < limit else {
                throw BenchFailure(
                    "only \(metrics.watching) of \(loop.boundAddresses.count) light viewers receive media")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Resets the statistics of all viewers.
    func begin() async throws {
        try await loop.call { viewersLoad, _ in
            for viewer in viewersLoad.peers { viewer.beginCounting() }
        }
    }

    /// Returns the statistics since `begin()`, including the datagrams that the viewers' own sockets dropped.
    func metrics() async throws -> LightViewingMetrics {
        var metrics = try await loop.call { viewersLoad, _ in LightViewingMetrics(viewersLoad.peers) }
        metrics.ownDrops = try await loop.statistics().kernelDrops
        return metrics
    }

    /// Closes the sessions of all viewers and stops the event loop.
    func leave() {
        try? loop.submit { viewersLoad, now in viewersLoad.close(at: now) }
        loop.stop()
    }
}

import PCastIO
import PCastMedia
import PCastRelay
import PCastWebRTC

/// The relay on its own thread, as the control plane sees it: calls go in, events come out, packets never pass here.
final class MediaRouter: Sendable {
    private let loop: EventLoop<Relay>

    /// What the relay tells, until it is stopped; to be read by one reader.
    let events: AsyncStream<RelayEvent>
    private let told: AsyncStream<RelayEvent>.Continuation

    /// Where peers reach us, as every answer says.
    let advertised: [TransportAddress]

    /// - Throws: `IOError` when the port cannot be opened.
    init(
        listen: [TransportAddress], advertise: (UInt16) -> [TransportAddress], certificate: DTLSCertificate,
        maximumPeers: Int
    ) throws(IOError) {
        let (events, told) = AsyncStream<RelayEvent>.makeStream()
        self.events = events
        self.told = told
        var advertised: [TransportAddress] = []
        loop = try EventLoop(
            name: "pcast-relay", listen: listen, tcpListen: true,
            makeMachine: { bound in
                advertised = advertise(bound.first?.port ?? 0)
                return Relay(
                    configuration: RelayConfiguration(
                        certificate: certificate, advertised: advertised, offersTCP: true,
                        clock: MonotonicClock.reference(), maximumPeers: maximumPeers),
                    generator: SystemRandomNumberGenerator())
            },
            afterTurn: { relay, _ in
                while let event = relay.pollEvent() { told.yield(event) }
            })
        self.advertised = advertised
    }

    var rtcPort: UInt16 { loop.boundAddresses.first?.port ?? 0 }

    /// - Parameter playout: from capture, when all viewers show the same picture; nil leaves each to its own need.
    func publish(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, preferring: [Codec], playout: TimeSpan?
    ) async throws(RelayError) -> SessionDescription {
        try await ask { relay, now throws(RelayError) in
            try relay.publish(
                peer, stream: stream, offer: offer, preferring: preferring, playout: playout, at: now)
        }
    }

    /// Adds where programs of this machine reach us, which may not reach what we advertise.
    func addOwnCandidates(to answer: inout SessionDescription) {
        for bound in loop.boundAddresses {
            let loopback: IPAddress = bound.ip.family == .v4 ? .loopbackV4 : IPAddress(v6: 0, 1)
            let own = TransportAddress(ip: bound.ip.isUnspecified ? loopback : bound.ip, port: bound.port)
            let candidate = ICECandidate.host(own, transport: .udp).description
            for index in answer.media.indices where !answer.media[index].candidates.contains(candidate) {
                answer.media[index].candidates.append(candidate)
            }
        }
    }

    /// - Parameter playout: how long this viewer buffers at least; nil leaves it to the network.
    func view(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, playout: TimeSpan?
    ) async throws(RelayError) -> SessionDescription {
        try await ask { relay, now throws(RelayError) in
            try relay.view(peer, stream: stream, offer: offer, playout: playout, at: now)
        }
    }

    func restart(_ peer: PeerID, remote: ICECredentials) async throws(RelayError) -> TrickleFragment {
        try await ask { relay, now throws(RelayError) in try relay.restart(peer, remote: remote, at: now) }
    }

    /// What a viewer is sent of its stream's layers; nil when it is gone, or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? {
        (try? await loop.call { relay, _ in relay.layers(viewedBy: peer) }) ?? nil
    }

    /// Has a viewer sent that layer and no better one; nil leaves the choice to the relay.
    func pin(_ peer: PeerID, layer: String?) async throws(RelayError) {
        try await ask { relay, now throws(RelayError) in try relay.pin(peer, layer: layer, at: now) }
    }

    /// Has a publisher send no more than that; see `Relay.limit`.
    func limit(_ peer: PeerID, to bitrate: Bitrate?) { try? loop.submit { relay, _ in relay.limit(peer, to: bitrate) } }

    /// A relay that does not keep up with what it is asked, or is stopping, is full.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (inout Relay, Instant) throws(RelayError) -> Answer
    ) async throws(RelayError) -> Answer {
        let result: Result<Answer, RelayError>
        do {
            result = try await loop.call { relay, now in
                do throws(RelayError) {
                    return .success(try question(&relay, now))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .full
        }
        return try result.get()
    }

    func end(_ peer: PeerID, reason: StreamEndedReason) async {
        _ = try? await loop.call { relay, now in relay.end(peer, reason: reason, at: now) }
    }

    func statistics(of peer: PeerID) async -> PeerStatistics? {
        (try? await loop.call { relay, _ in relay.statistics(of: peer) }) ?? nil
    }

    /// Packets sent to viewers since the beginning.
    func packetsForwarded() async -> Int { (try? await loop.call { relay, _ in relay.packetsForwarded }) ?? 0 }

    /// What was counted of each stream.
    func figures() async -> [StreamFigures] { (try? await loop.call { relay, _ in relay.figures }) ?? [] }

    /// The same without what is known of each viewer.
    func samples() async -> [StreamFigures] {
        (try? await loop.call { relay, _ in relay.figures(ofViewers: false) }) ?? []
    }

    /// Closes a connection that the relay does not need any more.
    func close(_ path: NetworkPath) { loop.close(path) }

    /// Ends the relay when its last words are sent. Harmless when called again.
    func stop() {
        loop.stop()
        told.finish()
    }
}

import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The life cycle of peers, and the removal of their state.
struct LifeTests {
    private func expectEmpty(_ network: VirtualNetwork) {
        #expect(network.sfu.peerCount == 0)
        #expect(network.sfu.peers.indices.isEmpty && network.sfu.streamIndices.isEmpty)
        #expect(network.sfu.peers.ufrags.isEmpty && network.sfu.peers.paths.table.entries.isEmpty)
        #expect(network.sfu.forwarder.busyPeers.isEmpty && network.sfu.forwarder.busyStreams.isEmpty)
    }

    private func broadcasting(_ network: VirtualNetwork) throws -> (CallPeer, CallPeer) {
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        return (publisher, viewer)
    }

    @Test("a silent publisher is away after 5 s and fails after 30 s together with its viewers, and no state remains")
    func silentPublisher() throws {
        let network = VirtualNetwork()
        let (publisher, viewer) = try broadcasting(network)
        network.remove(publisher)
        let silentSince = network.now
        network.run(for: .seconds(35 as Int64))
        let away = try #require(network.time(of: .away(publisher.id))) - silentSince
        let ended = try #require(network.time(of: .ended(publisher.id, .failed))) - silentSince
        #expect(away <= .milliseconds(5011) && away > .milliseconds(2000))
        #expect(ended - away == .seconds(25 as Int64))
        #expect(network.endedReason(of: viewer.id) == .failed)
        #expect(viewer.events.contains(.closed))
        expectEmpty(network)
    }

    @Test("a peer that can be reached again is reported as back")
    func back() throws {
        let network = VirtualNetwork()
        let (publisher, _) = try broadcasting(network)
        publisher.link.carriesUDP = false
        network.run(for: .seconds(10 as Int64))
        publisher.link.carriesUDP = true
        network.run(for: .seconds(5 as Int64))
        #expect(network.time(of: .away(publisher.id)) != nil)
        #expect(network.time(of: .back(publisher.id)) != nil)
        #expect(network.sfu.statistics(of: publisher.id)?.isAway == false)
        #expect(network.endedReason(of: publisher.id) == nil)
    }

    @Test("a peer that never connects fails at the setup deadline")
    func setupTimeout() throws {
        let network = VirtualNetwork(setupTimeout: .seconds(12 as Int64))
        network.link.carriesUDP = false
        let publisher = try network.publish(.vp8)
        let began = network.now
        network.run(for: .seconds(20 as Int64))
        #expect(network.time(of: .ended(publisher.id, .failed)) == began + .seconds(12 as Int64))
        expectEmpty(network)
    }

    @Test("a publisher's close_notify ends its stream at once")
    func goodbye() throws {
        let network = VirtualNetwork()
        let (publisher, viewer) = try broadcasting(network)
        publisher.connection.close(at: network.now)
        network.deliverAll(publisher)
        network.run(for: .milliseconds(11))
        #expect(network.endedReason(of: publisher.id) == .ended)
        #expect(network.endedReason(of: viewer.id) == .ended)
        network.run(for: .milliseconds(11))
        #expect(viewer.events.contains(.closed))
        expectEmpty(network)
    }

    @Test("viewers receive the reason for which their stream was ended", arguments: [1, 3])
    func endedFromOutside(batchCapacity: Int) throws {
        let network = VirtualNetwork(batchCapacity: batchCapacity)
        let (publisher, viewer) = try broadcasting(network)
        let others = try (0..<70).map { _ in try network.view() }
        #expect(network.run { others.allSatisfy(\.isConnected) })
        network.sfu.end(publisher.id, reason: .maintenance, at: network.now)
        network.settleRelay()
        #expect(network.endedReason(of: publisher.id) == .maintenance)
        #expect((others + [viewer]).allSatisfy { network.endedReason(of: $0.id) == .maintenance })
        #expect(network.events.count { if case .ended = $0 { true } else { false } } == 72)
        expectEmpty(network)
    }

    @Test("a peer whose certificate does not match its fingerprint fails without sending media")
    func wrongFingerprint() throws {
        let network = VirtualNetwork()
        let other = try DTLSCertificate.generate(at: VirtualNetwork.clock.wallTime)
        let publisher = try network.scriptPublisher(certificate: other)
        let viewer = try network.scriptViewer()
        network.run(for: .seconds(3 as Int64))
        var video = ScriptedVideo()
        for _ in 0..<10 { video.send(isKeyFrame: true, from: publisher, by: network) }
        #expect(network.endedReason(of: publisher.id) == .failed)
        #expect(!network.events.contains { if case .connected(publisher.id, _) = $0 { true } else { false } })
        #expect(!network.events.contains(.mediaStarted(publisher.id)))
        #expect(network.sfu.packetsForwarded == 0 && viewer.packets.isEmpty)
    }

    @Test("a peer that keeps changing its port does not increase the SFU's state")
    func manyPaths() throws {
        let network = VirtualNetwork()
        let (publisher, _) = try broadcasting(network)
        let ours = try #require(network.sfu.peers.ufrags.first { $0.value == .publisher(0) })
        let remote = ICECredentials(ufrag: "peer", password: String(repeating: "p", count: 24))!
        let fragment = try network.sfu.restart(publisher.id, remote: remote, at: network.now)
        for port in UInt16(1)...300 {
            network.inject(
                check(fragment, from: "peer", nominates: false),
                from: NetworkPath(
                    local: VirtualNetwork.relayAddress,
                    remote: TransportAddress(ip: publisher.addresses[0].ip, port: port)))
        }
        #expect(network.sfu.peers.paths.table.entries.count <= 2 * ICELiteAgent.maximumPaths)
        for _ in 0..<50 { _ = try network.sfu.restart(publisher.id, remote: remote, at: network.now) }
        #expect(network.sfu.peers.ufrags.count == 3 && network.sfu.peers.ufrags[ours.key] == nil)
    }

    @Test("after an ICE restart media continue, and use the new pair when it is nominated")
    func iceRestartKeepsMedia() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        let remote = ICECredentials(ufrag: "peer", password: String(repeating: "p", count: 24))!
        let fragment = try network.sfu.restart(viewer.id, remote: remote, at: network.now)
        broadcast.send(20, from: publisher, by: network)
        network.run(for: .milliseconds(100))
        #expect(viewer.video.count == 20)
        let elsewhere = NetworkPath(
            local: VirtualNetwork.relayAddress, remote: TransportAddress("203.0.113.9:77")!)
        var remotes: Set<TransportAddress> = []
        network.onSending = { bytes, path in
            if bytes[0] >= 128, path.remote != publisher.addresses[0] { remotes.insert(path.remote) }
        }
        network.inject(check(fragment, from: "peer", nominates: false), from: elsewhere)
        broadcast.send(5, from: publisher, by: network)
        #expect(remotes == [viewer.addresses[0]])
        remotes = []
        network.inject(check(fragment, from: "peer", nominates: true), from: elsewhere)
        broadcast.send(5, from: publisher, by: network)
        #expect(remotes == [elsewhere.remote])
    }

    /// A Binding request with the SFU's new credentials.
    private func check(_ fragment: TrickleFragment, from sender: String, nominates: Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            var writer = STUNMessageWriter(
                .request, transactionID: STUNTransactionID(high: 1, low: 2),
                into: MutableByteView(buffer))
            writer.addUsername(recipient: Array((fragment.iceUfrag ?? "").utf8), sender: Array(sender.utf8))
            writer.addPriority(1)
            if nominates { writer.addUseCandidate() }
            writer.addRole(.controlling(tieBreaker: 1))
            count = writer.finish(key: Array((fragment.icePwd ?? "").utf8))
        }
    }
}

extension VirtualNetwork {
    /// An offer of the SFU, and the answer of a scripted client.
    struct Answering {
        let id: PeerID
        let offer: SessionDescription
        let answer: SessionDescription
        let peer: ScriptedPeer
    }

    /// Requests an offer to publish and creates the answer, without sending it to the SFU.
    func answerAsPublisher(
        _ codecs: [Codec] = [.vp8, .opus], terms: PeerOptions = PeerOptions(), stream: StreamID = VirtualNetwork.stream
    ) throws -> Answering {
        let id = PeerID(generator.next())
        let offer = try sfu.offerToPublisher(id, of: stream, terms: terms, at: now)
        return try answer(offer, of: id, codecs: codecs) { type in
            let msid = MediaStreamIdentification(stream: "s", track: "t")
            let ssrc: UInt32 = type == .video ? 0x2221 : 0x3331
            return .send(nil, from: OutgoingSource(ssrc: ssrc, rtxSSRC: ssrc + 1, cname: "c", msid: msid))
        }
    }

    /// Requests an offer to view and creates the answer, without sending it to the SFU.
    func answerAsViewer(terms: PeerOptions = PeerOptions(), stream: StreamID = VirtualNetwork.stream) throws
        -> Answering
    {
        let id = PeerID(generator.next())
        let offer = try sfu.offerToViewer(id, of: stream, terms: terms, at: now)
        return try answer(offer, of: id, codecs: [.h264, .vp8, .opus]) { _ in .receive }
    }

    private func answer(
        _ offer: SessionDescription, of id: PeerID, codecs: [Codec], intent: (MediaType) -> AnswerOptions
    ) throws -> Answering {
        let credentials = ICECredentials.random(using: &generator)
        let answer = try Answer(
            to: offer, originSessionID: generator.next() >> 1,
            transport: TransportDescription(
                iceUfrag: credentials.ufrag, icePwd: credentials.password,
                fingerprint: Self.certificate.fingerprint.attribute, candidates: []),
            // Pause requests are not supported, so the publisher always sends.
            capabilities: MediaCapabilities(codecs: codecs, feedback: [.nack, .pli, .fir, .transportCC])
        ) { type, _ in intent(type) }
        let peer = try scripted(id, credentials: credentials, session: answer.session)
        return Answering(id: id, offer: offer, answer: answer.description, peer: peer)
    }
}

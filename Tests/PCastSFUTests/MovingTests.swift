import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Peers whose address changes while a stream is running.
struct MovingTests {
    private func stage(
        addresses: [TransportAddress]? = nil, movesPublisher: Bool
    ) throws -> (VirtualNetwork, publisher: CallPeer, viewer: CallPeer, Broadcast) {
        let network = VirtualNetwork()
        network.link.delay = .milliseconds(30)
        let publisher = try network.publish(.vp8, addresses: movesPublisher ? addresses : nil)
        let viewer = try network.view(addresses: movesPublisher ? nil : addresses)
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        return (network, publisher, viewer, broadcast)
    }

    /// Returns the longest time without a frame within a range of time.
    private func longestGap(_ viewer: CallPeer, from start: Instant, to end: Instant) -> TimeSpan {
        let arrivals = [start] + viewer.video.map(\.arrival).filter { $0 > start } + [end]
        return zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }

    private func connections(_ peer: CallPeer) -> Int {
        peer.events.count { if case .connected = $0 { true } else { false } }
    }

    @Test(
        "a NAT rebinding of a viewer or a publisher interrupts its media for less than half a second",
        arguments: [true, false])
    func rebinding(movesPublisher: Bool) throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: movesPublisher)
        for _ in 0..<3 {
            let start = network.now
            network.rebind(movesPublisher ? publisher : viewer)
            broadcast.send(150, from: publisher, by: network)
            #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(500))
        }
        #expect(connections(publisher) == 1 && connections(viewer) == 1)
        #expect(!network.events.contains { if case .away = $0 { true } else { false } })
        #expect(network.endedReason(of: publisher.id) == nil && network.endedReason(of: viewer.id) == nil)
    }

    @Test(
        "a dead interface interrupts media for less than a second if there is another one",
        arguments: [true, false])
    func otherInterface(movesPublisher: Bool) throws {
        let addresses = [TransportAddress("10.1.0.2:5000")!, TransportAddress("10.2.0.2:5000")!]
        var (network, publisher, viewer, broadcast) = try stage(
            addresses: addresses, movesPublisher: movesPublisher)
        let peer = movesPublisher ? publisher : viewer
        for used in addresses {
            let start = network.now
            peer.link.dead = [used]
            broadcast.send(150, from: publisher, by: network)
            #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(1000))
        }
        #expect(connections(publisher) == 1 && connections(viewer) == 1)
    }

    @Test(
        "a change of the network interrupts media for little more than a round trip",
        arguments: [true, false])
    func exchangedNetwork(movesPublisher: Bool) throws {
        let addresses = [TransportAddress("10.1.0.2:5000")!, TransportAddress("10.2.0.2:5000")!]
        let network = VirtualNetwork()
        network.link.delay = .milliseconds(30)
        network.link.dead = [addresses[1]]
        let publisher = try network.publish(.vp8, addresses: movesPublisher ? addresses : nil)
        let viewer = try network.view(addresses: movesPublisher ? nil : addresses)
        let peer = movesPublisher ? publisher : viewer
        peer.connection.setLocalAddresses([addresses[0]], at: network.now)
        network.deliverAll(peer)
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        for (old, new) in [(0, 1), (1, 0)] {
            let start = network.now
            peer.link.dead = [addresses[old]]
            peer.connection.setLocalAddresses([addresses[new]], at: network.now)
            network.deliverAll(peer)
            broadcast.send(100, from: publisher, by: network)
            #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(400))
        }
        #expect(connections(publisher) == 1 && connections(viewer) == 1)
    }

    @Test("a viewer that had no network for two seconds resumes on the next one")
    func withoutNetwork() throws {
        let addresses = [TransportAddress("10.1.0.2:5000")!, TransportAddress("10.2.0.2:5000")!]
        var (network, publisher, viewer, broadcast) = try stage(addresses: addresses, movesPublisher: false)
        viewer.link.dead = Set(addresses)
        viewer.connection.setLocalAddresses([], at: network.now)
        network.deliverAll(viewer)
        broadcast.send(100, from: publisher, by: network)
        let start = network.now
        viewer.link.dead = []
        viewer.connection.setLocalAddresses([addresses[1]], at: network.now)
        network.deliverAll(viewer)
        broadcast.send(150, from: publisher, by: network)
        #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(1000))
        #expect(connections(viewer) == 1 && network.endedReason(of: viewer.id) == nil)
    }

    @Test("an ICE restart by a new offer does not change keys, sequence numbers or frames", arguments: [true, false])
    func restart(ofPublisher: Bool) throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: ofPublisher)
        let peer = ofPublisher ? publisher : viewer
        let before = peer.connection.offer
        let start = network.now
        for _ in 0..<3 {
            let made = peer.connection.makeRestartOffer(using: &network.generator)
            let offer = try #require(made)
            #expect(offer.origin.sessionVersion > before.origin.sessionVersion)
            #expect(offer.media.map(\.sources) == before.media.map(\.sources))
            let section = try #require(offer.media.first)
            let credentials = ICECredentials(ufrag: section.iceUfrag!, password: section.icePwd!)!
            let ours = try network.sfu.restart(peer.id, remote: credentials, at: network.now)
            network.settleRelay()
            var answer = try #require(peer.answer)
            for index in answer.media.indices {
                answer.media[index].iceUfrag = ours.iceUfrag
                answer.media[index].icePwd = ours.icePwd
            }
            try peer.connection.acceptRestart(answer, at: network.now)
            network.deliverAll(peer)
            broadcast.send(50, from: publisher, by: network)
        }
        #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(100))
        #expect(connections(publisher) == 1 && connections(viewer) == 1)
    }

    @Test("an answer without a restart, or to another offer, is rejected without effect")
    func strayAnswer() throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: false)
        let answer = try #require(viewer.answer)
        #expect(throws: SDPError.answerDoesNotMatchOffer) {
            try viewer.connection.acceptRestart(answer, at: network.now)
        }
        _ = viewer.connection.makeRestartOffer(using: &network.generator)
        var short = answer
        short.media.removeLast()
        #expect(throws: SDPError.answerDoesNotMatchOffer) {
            try viewer.connection.acceptRestart(short, at: network.now)
        }
        let start = network.now
        broadcast.send(50, from: publisher, by: network)
        #expect(longestGap(viewer, from: start, to: network.now) < .milliseconds(100))
    }

    // MARK: Authentication

    private let elsewhere = NetworkPath(
        local: VirtualNetwork.relayAddress, remote: TransportAddress("198.51.100.66:6666")!)

    /// Returns a function that gives the peer's last datagram of media or control.
    private func eavesdrop(_ network: VirtualNetwork, on peer: CallPeer) -> () -> [UInt8]? {
        var last: [UInt8]?
        network.onPeerSending = { bytes, sender, _ in
            if sender === peer, bytes[0] >= 128 { last = bytes }
        }
        return { last }
    }

    @Test("a repeated or modified packet from another address causes no migration", arguments: [true, false])
    func replay(ofPublisher: Bool) throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: ofPublisher)
        let heard = eavesdrop(network, on: ofPublisher ? publisher : viewer)
        broadcast.send(50, from: publisher, by: network)
        network.run(for: .milliseconds(200))
        var answers = 0
        network.onSending = { _, path in if path.remote == elsewhere.remote { answers += 1 } }
        let unknownSourceDatagrams = network.sfu.unknownSourceDatagrams
        let packet = try #require(heard())
        network.inject(packet, from: elsewhere)
        var changed = packet
        changed[3] ^= 0x10
        changed[packet.count - 20] ^= 1
        network.inject(changed, from: elsewhere)
        #expect(answers == 0 && network.sfu.unknownSourceDatagrams == unknownSourceDatagrams + 2)
        #expect(network.sfu.peers.probedPaths.isEmpty)
    }

    @Test("an address that sends a peer's new packet first receives one check and nothing else")
    func packetSentByOtherAddress() throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: false)
        let heard = eavesdrop(network, on: viewer)
        viewer.link.carriesUDP = false
        broadcast.send(10, from: publisher, by: network)
        viewer.link.carriesUDP = true
        var answers: [[UInt8]] = []
        network.onSending = { bytes, path in if path.remote == elsewhere.remote { answers.append(bytes) } }
        network.inject(try #require(heard()), from: elsewhere)
        broadcast.send(100, from: publisher, by: network)
        #expect(answers.count == 1)
        let request = try #require(answers.first.flatMap { STUNMessage.parse($0.span) })
        #expect(request.messageClass == .request && request.size <= 120)
        let counted = viewer.video.count
        broadcast.send(50, from: publisher, by: network)
        #expect(viewer.video.count >= counted + 48)
    }

    @Test("a packet that was delayed while its sender migrated does not reverse the migration")
    func latePacket() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        #expect(network.run { publisher.isConnected })
        let old = NetworkPath(local: VirtualNetwork.relayAddress, remote: publisher.addresses[0])
        func packet(_ number: UInt16) -> [UInt8] {
            publisher.say(.video, sequence: number, timestamp: 3000 * UInt32(number), payload: [0x10, 1, 2, 3])
            return publisher.takeQueue()[0]
        }
        let packets = (100...104).map { packet(UInt16($0)) }
        var probes: [TransportAddress] = []
        network.onSending = { bytes, path in
            if bytes[0] < 2, STUNMessage.parse(bytes.span)?.messageClass == .request { probes.append(path.remote) }
        }
        network.inject(packets[0], from: old)
        network.rebind(publisher)
        var new = old
        network.onPeerSending = nil
        // The first packet on the new path is the second newest. It is followed by a late packet on the old path.
        new.remote = TransportAddress("10.0.0.4:5000")!
        network.inject(packets[2], from: new)
        network.run(for: .milliseconds(100))
        #expect(probes == [new.remote])
        network.inject(packets[1], from: old)
        network.run(for: .milliseconds(500))
        network.inject(packets[1], from: old)
        network.run(for: .milliseconds(500))
        #expect(probes == [new.remote])
    }

    @Test("forged packets from unknown addresses cause a limited number of decryptions, and a migration follows later")
    func forgedPackets() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        #expect(network.run { publisher.isConnected })
        let old = NetworkPath(local: VirtualNetwork.relayAddress, remote: publisher.addresses[0])
        func packet(_ number: UInt16) -> [UInt8] {
            publisher.say(.video, sequence: number, timestamp: 3000 * UInt32(number), payload: [0x10, 1, 2, 3])
            return publisher.takeQueue()[0]
        }
        let packets = (100...102).map { packet(UInt16($0)) }
        network.inject(packets[0], from: old)
        network.onPeerSending = nil
        var probes: [TransportAddress] = []
        network.onSending = { bytes, path in
            if bytes[0] < 2, STUNMessage.parse(bytes.span)?.messageClass == .request { probes.append(path.remote) }
        }
        var new = old
        new.remote = TransportAddress("10.0.0.4:5000")!
        var forged = packets[1]
        forged[forged.count - 1] ^= 1
        for _ in 0..<1_000 { network.inject(forged, from: elsewhere) }
        network.inject(packets[1], from: new)
        #expect(probes.isEmpty)
        network.run(for: .milliseconds(300))
        network.inject(packets[2], from: new)
        #expect(probes == [new.remote])
    }

    @Test("among browsers that share the SSRC 1, the one that migrated is found")
    func sharedSource() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        func report(_ viewer: ScriptedPeer) {
            viewer.report { $0.receiverReport(ssrc: 1) }
            network.deliverAll(viewer)
            network.run(for: .milliseconds(50))
        }
        viewers.forEach(report)
        var broadcast = Broadcast(.vp8)
        for viewer in viewers.reversed() {
            network.rebind(viewer)
            broadcast.send(10, from: publisher, by: network)
            let counted = viewer.packets.count
            report(viewer)
            broadcast.send(10, from: publisher, by: network)
            #expect(viewer.packets.count > counted + 10)
        }
    }

    @Test("all keys of a peer are removed with it")
    func removesAllKeys() throws {
        var (network, publisher, viewer, broadcast) = try stage(movesPublisher: false)
        network.rebind(viewer)
        broadcast.send(50, from: publisher, by: network)
        let source = network.sfu.peers.sources
        #expect(source != SourceIndex())
        network.sfu.end(publisher.id, reason: .ended, at: network.now)
        network.settleRelay()
        #expect(network.sfu.peers.sources == SourceIndex() && network.sfu.peers.probedPaths.isEmpty)
        #expect(network.sfu.peers.paths.table.entries.isEmpty && network.sfu.peers.ufrags.isEmpty)
    }
}

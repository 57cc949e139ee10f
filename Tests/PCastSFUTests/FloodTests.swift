import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Peers that flood the SFU, and the effect on others.
struct FloodTests {
    private func datagrams(_ count: Int, _ network: VirtualNetwork, _ make: ([UInt8]) -> [UInt8]) -> [[UInt8]] {
        (0..<count).map { _ in make((0..<11).map { _ in UInt8.random(in: 0...255, using: &network.generator) }) }
    }

    /// Returns how long a join takes while a viewer that passed one check, but does not continue its handshake, floods.
    private func floodedJoin(_ flood: ([UInt8]) -> [UInt8]) throws -> TimeSpan {
        let network = VirtualNetwork(seed: 5)
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        let attacker = try network.scriptViewer()
        // The datagrams of its handshake are lost, but its check is not.
        let paths = network.sfu.peers.paths.table.entries.count
        #expect(network.run { network.sfu.peers.paths.table.entries.count > paths })
        network.remove(attacker)
        let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: attacker.addresses[0])
        // There are 50,000 datagrams per second, from 20 ms before the other viewer joins until it is connected.
        for _ in 0..<20 {
            for bytes in datagrams(50, network, flood) { network.inject(bytes, from: path) }
            network.run(for: .milliseconds(1))
        }
        let joiner = try network.view()
        let came = network.now
        while !joiner.isConnected, network.now - came < .seconds(3) {
            for bytes in datagrams(50, network, flood) { network.inject(bytes, from: path) }
            network.run(for: .milliseconds(1))
        }
        #expect(joiner.isConnected)
        #expect(network.sfu.handshakes.count <= 9, "the queue of handshakes is bounded")
        return network.now - came
    }

    @Test("a viewer that floods its handshake does not delay another join")
    func handshakes() throws {
        // A round trip takes 20 ms, and a join takes at most four of them.
        let time = try floodedJoin { [0x16, 0xFE, 0xFD] + $0 }
        #expect(time < .milliseconds(120))
    }

    @Test("a viewer that floods well-formed records does not delay another join")
    func wellFormed() throws {
        let time = try floodedJoin { random in
            let sequence: [UInt8] = Array(random.prefix(8))
            return [0x16, 0xFE, 0xFD] + sequence + [0, 3] + Array(random.suffix(3))
        }
        #expect(time < .milliseconds(150))
    }

    @Test("a flood of media from unknown sources uses no capacity of the messages between shards")
    func unknownSources() throws {
        let network = VirtualNetwork(seed: 6, shards: 2)
        let publisher = try network.publish(.vp8)
        let viewer = try network.viewBeside()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        let before = viewer.video.count
        var asked = 0
        network.onMessages = { batch in
            asked += batch.shardMessages.count { if case .unknownSource = $0 { true } else { false } }
        }
        let start = network.now
        for _ in 0..<3 {
            // As many datagrams as arrive in a tenth of a second are handled before any message is delivered.
            let unknown = (0..<40_000).map { _ -> [UInt8] in
                let random = (0..<20).map { _ in UInt8.random(in: 0...255, using: &network.generator) }
                return [0x80, 0x60] + random
            }
            network.injectUnpolled(unknown, from: TransportAddress("198.51.100.7:4000")!)
            #expect(network.sfu.shardMessagesLost == 0)
            broadcast.send(5, from: publisher, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(viewer.video.count - before == 15)
        #expect(network.sfu.shardMessagesLost == 0 && network.peerShard?.shardMessagesLost == 0)
        let seconds = (network.now - start).seconds
        #expect(Double(asked) <= 100 + 200 * seconds, "\(asked) requests in \(seconds) s")
        #expect(asked > 0)
    }

    /// The reason why unauthenticated datagrams are forwarded to another shard.
    enum Forwarding: CaseIterable { case connectivityCheck, knownPath }

    /// Returns a Binding request (RFC 8489, section 5) with the USERNAME of a peer of the first (`A`) or second shard
    /// (`B`).
    private static func check(_ random: [UInt8], shard: Character = "B") -> [UInt8] {
        var bytes: [UInt8] = [0, 1, 0, 12, 0x21, 0x12, 0xA4, 0x42]
        bytes += random.prefix(12)
        bytes += [0, 6, 0, 6] as [UInt8]
        bytes += Array("\(shard)AAA:x".utf8)
        return bytes + [0, 0]
    }

    @Test(
        "a flood of forwarded datagrams uses no capacity of the messages between shards",
        arguments: Forwarding.allCases)
    func forwarded(_ forwarding: Forwarding) throws {
        let network = VirtualNetwork(seed: 8, shards: 2)
        let publisher = try network.publish(.vp8)
        let viewer = try network.viewBeside()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        let before = viewer.video.count
        let known = try #require(network.sfu.forwarder.shardLinks.paths.keys.first)
        let source = forwarding == .knownPath ? known.remote : TransportAddress("198.51.100.7:4000")!
        for _ in 0..<3 {
            // They arrive before any message is delivered to the other shard.
            let flood = (0..<40_000).map { _ -> [UInt8] in
                let random = (0..<20).map { _ in UInt8.random(in: 0...255, using: &network.generator) }
                return forwarding == .knownPath ? [0x80, 0x60] + random : Self.check(random)
            }
            network.injectUnpolled(flood, from: source)
            broadcast.send(5, from: publisher, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(viewer.video.count - before == 15)
        #expect(network.sfu.forwarder.shardLinks.lost == 0)
        #expect((network.sfu.shardMessagesLost > 0) == (forwarding == .knownPath))
        #expect((network.sfu.shardChecksLost > 0) == (forwarding == .connectivityCheck))
    }

    @Test("a flood of connectivity checks uses no capacity of media that arrives at the wrong shard")
    func checksBeforeMedia() throws {
        let network = VirtualNetwork(seed: 8, shards: 2)
        let publisher = try network.scriptPublisher()
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        network.run(for: .milliseconds(100))
        let before = viewer.packets.count
        let flood = (0..<40_000).map { _ -> [UInt8] in
            Self.check((0..<20).map { _ in UInt8.random(in: 0...255, using: &network.generator) }, shard: "A")
        }
        network.injectUnpolledIntoPeerShard(flood, from: TransportAddress("198.51.100.7:4000")!)
        for _ in 0..<20 { video.say(isKeyFrame: false, from: publisher) }
        network.injectUnpolledIntoPeerShard(publisher.takeQueue(), from: publisher.addresses[0])
        #expect(network.peerShard?.shardMessagesLost == 0)
        #expect((network.peerShard?.shardChecksLost ?? 0) > 0)
        network.settleRelay()
        network.run(for: .milliseconds(200))
        #expect(viewer.packets.count - before == 20)
    }

    @Test("a path that is dropped closes its connection")
    func droppedPath() throws {
        let network = VirtualNetwork(seed: 7, offersTCP: true)
        network.link.carriesUDP = false
        var check: [UInt8] = []
        network.onPeerSending = { bytes, _, path in
            if path.transport != .udp, STUNMessage.parse(bytes.span)?.messageClass == .request { check = bytes }
        }
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected && !check.isEmpty })
        let path = try #require(network.sfu.peers.paths.table.entries.first?.path)
        // The peer opens further connections with a check on each. The one that was silent for longest is closed.
        var opened: [NetworkPath] = []
        for number in 0..<20 {
            let another = NetworkPath(
                transport: .tcp(connection: UInt32(1_000 + number)), local: path.local, remote: path.remote)
            opened.append(another)
            network.inject(check, from: another)
            network.run(for: .milliseconds(5))
        }
        let known = Set(network.sfu.peers.paths.table.entries.map(\.path))
        let closed = Set(
            network.events.compactMap { event -> NetworkPath? in
                if case .closeConnection(let path) = event { path } else { nil }
            })
        #expect(known.count <= ICELiteAgent.maximumPaths + 1)
        #expect(Set(opened).subtracting(known).isSubset(of: closed))
        #expect(closed.count >= 11)
    }
}

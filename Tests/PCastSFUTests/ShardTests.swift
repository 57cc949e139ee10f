import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Two shards behind one address. Datagrams that arrive at the wrong shard are forwarded.
struct ShardTests {
    @Test("a stream arrives completely wherever viewers' datagrams arrive", arguments: 1...8 as ClosedRange<UInt64>)
    func arrivalOnOtherShard(seed: UInt64) throws {
        let network = VirtualNetwork(seed: seed, shards: 2)
        // With every other seed, the publisher's datagrams arrive at the other shard too.
        if seed % 2 == 0 { _ = network.newAddress() }
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<4).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.vp8)
        broadcast.send(200, from: publisher, by: network)
        network.run(for: .seconds(1))
        for viewer in viewers {
            #expect(viewer.video.count { broadcast.isSame($0.frame) } == 200)
        }
        #expect(network.peerShard?.peerCount == 0)
        #expect(network.sfu.shardMessagesLost == 0 && network.peerShard?.shardMessagesLost == 0)
    }

    @Test("measurements use the arrival time of a report, even if it is read later or forwarded", arguments: 1...2)
    func readLate(shards: Int) throws {
        let network = VirtualNetwork(shards: shards)
        network.readingDelay = .milliseconds(5)
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<4).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.vp8)
        broadcast.send(150, from: publisher, by: network)
        // The link takes 20 ms, and the SFU is notified that reports arrived 5 ms earlier.
        for viewer in viewers {
            let measured = try #require(network.sfu.statistics(of: viewer.id)?.roundTrip)
            #expect(abs((measured - .milliseconds(15)).nanoseconds) < 500_000, "\(measured)")
        }
    }

    @Test("a peer that migrates continues, even if its datagrams arrive at another shard", arguments: [true, false])
    func moving(movesPublisher: Bool) throws {
        let network = VirtualNetwork(shards: 2)
        network.link.delay = .milliseconds(30)
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        for _ in 0..<4 {
            network.rebind(movesPublisher ? publisher : viewer)
            let before = viewer.video.count
            broadcast.send(150, from: publisher, by: network)
            #expect(viewer.video.count - before > 120)
        }
        #expect(network.endedReason(of: publisher.id) == nil && network.endedReason(of: viewer.id) == nil)
    }

    @Test("a shard removes the paths of another shard's peers when they have left")
    func forgetting() throws {
        let network = VirtualNetwork(shards: 2)
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<6).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        #expect(network.peerShard?.forwarder.shardLinks.paths.count == 7)
        for viewer in viewers { network.sfu.end(viewer.id, reason: .ended, at: network.now) }
        network.settleRelay()
        #expect(network.run { network.sfu.peerCount == 1 })
        #expect(network.peerShard?.forwarder.shardLinks.paths.count == 1)
        network.sfu.end(publisher.id, reason: .ended, at: network.now)
        network.settleRelay()
        #expect(network.run { network.sfu.peerCount == 0 })
        #expect(network.peerShard?.forwarder.shardLinks.paths.isEmpty == true)
    }

    @Test("a path belongs to the peer that passed the last check on it, and a check in progress changes nothing")
    func claims() throws {
        let network = VirtualNetwork(shards: 2)
        let publisher = try network.publish(.vp8)
        let viewer = try network.viewBeside()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        let path = try #require(network.sfu.peers.paths.table.entries.first?.path)
        let peerIndex = try #require(network.sfu.peers.paths[path])
        func claim(_ claim: ShardMessageBatch.PathOwnership) {
            let batch = ShardMessageBatch()
            batch.append(.path(path, claim))
            network.sfu.take(batch, from: 1, at: network.now)
        }
        claim(.asked)
        #expect(network.sfu.peers.paths[path] == peerIndex && network.sfu.forwarder.shardLinks.paths[path] == nil)
        claim(.validated)
        #expect(network.sfu.peers.paths[path] == nil && network.sfu.forwarder.shardLinks.paths[path] == 1)
        claim(.left)
        #expect(network.sfu.forwarder.shardLinks.paths[path] == nil)
        // The next check assigns the path to the publisher again.
        #expect(network.run { network.sfu.peers.paths[path] == peerIndex })
    }

    @Test("messages that a shard does not read are dropped and counted, and returned batches are reused")
    func bound() {
        var shardLinks = ShardLinks(of: Shard(0, of: 2), maximumPeers: 10)
        let bytes = [UInt8](repeating: 7, count: 1_000)
        let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: TransportAddress("10.0.0.1:5000")!)
        func fill(_ count: Int) {
            for _ in 0..<count {
                bytes.withByteView {
                    shardLinks.give($0, to: 1) { .datagram($0, .rtp, from: path, at: VirtualNetwork.start) }
                }
            }
        }
        let fitting = ShardMessageBatch.byteCapacity / 1_000 * ShardLinks.maximumBatches
        fill(fitting)
        #expect(shardLinks.lost == 0)
        fill(3)
        #expect(shardLinks.lost == 3)
        var count = 0
        while let (shard, batch) = shardLinks.poll() {
            #expect(shard == 1)
            count += batch.shardMessages.count
            shardLinks.takeBack(batch)
        }
        #expect(count == fitting)
        fill(fitting)
        #expect(shardLinks.lost == 3)
    }

    @Test("connectivity checks from unknown paths have a bounded queue of their own, which is read after media")
    func checks() {
        var shardLinks = ShardLinks(of: Shard(0, of: 2), maximumPeers: 10)
        let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: TransportAddress("10.0.0.1:5000")!)
        let fitting = ShardMessageBatch.messageCapacity * ShardLinks.maximumCheckBatches
        for _ in 0..<fitting + 3 {
            [UInt8](repeating: 1, count: 100).withByteView {
                shardLinks.forwardCheck($0, to: 1) { .datagram($0, .stun, from: path, at: VirtualNetwork.start) }
            }
        }
        #expect(shardLinks.checksLost == 3)
        for _ in 0..<100 {
            [UInt8](repeating: 0x80, count: 1_000).withByteView {
                shardLinks.forward($0, to: 1) { .datagram($0, .rtp, from: path, at: VirtualNetwork.start) }
            }
        }
        #expect(shardLinks.lost == 0 && shardLinks.datagramsLost == 0)
        var contents: [ShardMessageBatch.Content] = []
        var counts: [ShardMessageBatch.Content: Int] = [:]
        while let (shard, batch) = shardLinks.poll() {
            #expect(shard == 1)
            contents.append(batch.content)
            counts[batch.content, default: 0] += batch.shardMessages.count
            shardLinks.takeBack(batch)
        }
        #expect(counts == [.datagrams: 100, .checks: fitting])
        #expect(contents.prefix(2) == [.datagrams, .datagrams] && contents.dropFirst(2).allSatisfy { $0 == .checks })
        #expect(!shardLinks.isHolding)
    }

    @Test("a shard that reads nothing costs little capacity, does not affect others, and loses no message")
    func standstill() {
        var shardLinks = ShardLinks(of: Shard(0, of: 3), maximumPeers: 10)
        let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: TransportAddress("10.0.0.1:5000")!)
        func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
        var waiting: [ShardMessageBatch] = []
        for number in 0..<1_000 {
            bytes(number).withByteView {
                shardLinks.give($0, to: 1) { .datagram($0, .rtp, from: path, at: VirtualNetwork.start) }
            }
            while let (shard, batch) = shardLinks.poll() {
                #expect(shard == 1)
                waiting.append(batch)
            }
        }
        // There are two batches with one datagram, and a full one.
        #expect(waiting.map(\.shardMessages.count) == [1, 1, ShardMessageBatch.messageCapacity])
        #expect(shardLinks.isHolding)
        shardLinks.give(.path(path, .left), to: 2)
        let other = shardLinks.poll()
        #expect(other?.shard == 2)
        #expect(shardLinks.poll() == nil)
        var read: [[UInt8]] = []
        while !waiting.isEmpty {
            let batch = waiting.removeFirst()
            for case .datagram(let range, _, _, _) in batch.shardMessages { read.append(Array(batch.bytes(range))) }
            shardLinks.takeBack(batch)
            while let (_, batch) = shardLinks.poll() { waiting.append(batch) }
        }
        #expect(read == (0..<1_000).map(bytes))
        #expect(shardLinks.lost == 0 && !shardLinks.isHolding)
    }

    @Test("the first character of a ufrag identifies the shard, and other characters identify none")
    func ufrags() {
        var generator = SeededGenerator(seed: 1)
        for number in 0..<Shard.maximumCount {
            let credentials = ICECredentials.random(ufragLength: 12, mark: number, using: &generator)
            #expect(credentials.ufrag.utf8.count == 12)
            #expect(credentials.ufrag.utf8.first.flatMap(ICECredentials.mark) == number)
        }
        #expect(ICECredentials.mark(of: UInt8(ascii: "~")) == nil)
    }
}

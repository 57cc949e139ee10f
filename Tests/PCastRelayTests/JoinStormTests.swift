import PCastMedia
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastRelay

/// Many who come at once.
struct JoinStormTests {
    private static let joiners = 60

    @Test(
        "A new viewer is shown a key frame that is young for its size at once, and an older one is waited for",
        arguments: [(40_000, true), (1_800, false)])
    func replay(keyFrameSize: Int, isReplayed: Bool) throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.pictures.keyFrameSize = keyFrameSize
        // The bitrate is known after some seconds, and by then the first new viewer has one made.
        broadcast.send(200, from: publisher, by: network)
        let early = try network.view()
        broadcast.send(75, from: publisher, by: network)
        #expect(!early.video.isEmpty)
        let before = publisher.keyFrameRequests
        let late = try network.view()
        let came = network.now
        let number = broadcast.sent.count
        broadcast.send(50, from: publisher, by: network)
        // Either way one is made: the share of key frames has not been used.
        #expect(publisher.keyFrameRequests - before == 1)
        #expect(try #require(late.videoTimes.first) - came < .milliseconds(400))
        let first = try #require(late.video.first.flatMap { broadcast.number(of: $0.frame) })
        #expect((first < number) == isReplayed)
        #expect(late.video.count { !broadcast.isSame($0.frame) } == 0)
    }

    @Test("DTLS14: of many handshakes at once a few are taken at a time, and who watches already notices nothing")
    func dtls14() throws {
        let network = VirtualNetwork(maximumPeers: Self.joiners + 2)
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        // At one moment, each by one handshake's datagrams.
        var answered: [Instant: Set<NetworkPath>] = [:]
        network.onSending = { [unowned network] bytes, path in
            if DatagramKind(bytes.span) == .dtls { answered[network.now, default: []].insert(path) }
        }
        let joiners = try (0..<Self.joiners).map { _ in try network.view() }
        broadcast.send(30, from: publisher, by: network)
        network.onSending = nil
        #expect(joiners.count { $0.isConnected } == Self.joiners, "in 600 ms")
        #expect(Set(answered.values.joined()).count == Self.joiners)
        #expect(answered.values.allSatisfy { $0.count <= HandshakeQueue.slice })
        #expect(network.relay.handshakes.count == 0)
        let witness = ViewerWitness(viewer: watcher, broadcast: broadcast)
        #expect(witness.offences().isEmpty)
        #expect(witness.longestWay(ofLast: 30) <= .milliseconds(25))
    }

    @Test("Who comes alone does not wait for a turn")
    func alone() {
        var queue = HandshakeQueue()
        let now = Instant(nanoseconds: 5_000_000_000)
        #expect(queue.mayPass(at: now) && queue.deadline == nil)
    }

    @Test("Those that wait keep their order, and beyond the bound are dropped")
    func bound() {
        var queue = HandshakeQueue()
        var now = Instant(nanoseconds: 5_000_000_000)
        let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: VirtualNetwork.relayAddress)
        var passed = 0
        while queue.mayPass(at: now) { passed += 1 }
        #expect(passed == HandshakeQueue.slice)
        for number in 0..<2_000 {
            queue.append(HandshakeQueue.Entry(bytes: [UInt8(number & 0xFF)], path: path, place: .viewer(number)))
        }
        #expect(queue.count == HandshakeQueue.capacity && queue.next(at: now) == nil)
        var order: [PeerPlace] = []
        while let deadline = queue.deadline {
            #expect(deadline - now == HandshakeQueue.interval)
            now = deadline
            while let entry = queue.next(at: now) { order.append(entry.place) }
            #expect(!queue.mayPass(at: now) || queue.count == 0)
        }
        #expect(order == (0..<HandshakeQueue.capacity).map { PeerPlace.viewer($0) })
    }
}

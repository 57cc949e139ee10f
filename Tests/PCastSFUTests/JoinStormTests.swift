import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Many viewers that join at once.
struct JoinStormTests {
    private static let joiners = 60

    @Test(
        "a new viewer receives a key frame that is young for its size at once, and waits if it is older",
        arguments: [(40_000, true), (1_800, false)])
    func replay(keyFrameSize: Int, isReplayed: Bool) throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.videoFrames.keyFrameSize = keyFrameSize
        // The bit rate is known after some seconds, and the first new viewer has a key frame requested until then.
        broadcast.send(200, from: publisher, by: network)
        let early = try network.view()
        broadcast.send(75, from: publisher, by: network)
        #expect(!early.video.isEmpty)
        let before = publisher.keyFrameRequests
        let late = try network.view()
        let came = network.now
        let number = broadcast.sent.count
        broadcast.send(50, from: publisher, by: network)
        // A key frame is requested in both cases, because the share of key frames has not been used.
        #expect(publisher.keyFrameRequests - before == 1)
        #expect(try #require(late.videoTimes.first) - came < .milliseconds(400))
        let first = try #require(late.video.first.flatMap { broadcast.number(of: $0.frame) })
        #expect((first < number) == isReplayed)
        #expect(late.video.count { !broadcast.isSame($0.frame) } == 0)
    }

    @Test("simultaneous handshakes are processed a few at a time, with no effect on existing viewers")
    func simultaneousHandshakes() throws {
        let network = VirtualNetwork(maximumPeers: Self.joiners + 2)
        let publisher = try network.publish(.vp8)
        let watcher = try network.view()
        #expect(network.run { publisher.isConnected && watcher.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        // At any moment, only the handshakes of one slice are answered. A ClientHello, which is sent with the response to a
        // check, needs no calculation with keys.
        var answered: [Instant: Set<NetworkPath>] = [:]
        network.onSending = { [unowned network] bytes, path in
            guard DatagramKind(bytes.span) == .dtls, !(bytes[0] == 22 && bytes[13] == 1) else { return }
            answered[network.now, default: []].insert(path)
        }
        let joiners = try (0..<Self.joiners).map { _ in try network.view() }
        broadcast.send(30, from: publisher, by: network)
        network.onSending = nil
        #expect(joiners.count { $0.isConnected } == Self.joiners, "in 600 ms")
        #expect(Set(answered.values.joined()).count == Self.joiners)
        #expect(answered.values.allSatisfy { $0.count <= HandshakeQueue.slice })
        #expect(network.sfu.handshakes.count == 0)
        let recorder = ViewerRecorder(viewer: watcher, broadcast: broadcast)
        #expect(recorder.offences().isEmpty)
        #expect(recorder.longestWay(ofLast: 30) <= .milliseconds(25))
    }

    @Test("the handshake of a single new viewer is not queued")
    func alone() {
        var queue = HandshakeQueue()
        let now = Instant(nanoseconds: 5_000_000_000)
        #expect(queue.mayPass(at: now) && queue.deadline == nil)
    }

    private static let path = NetworkPath(local: VirtualNetwork.relayAddress, remote: VirtualNetwork.relayAddress)

    private static func append(_ number: Int, of peer: Int, to queue: inout HandshakeQueue) {
        let peerIndex = PeerIndex.viewer(peer)
        queue.append(
            HandshakeQueue.Entry(bytes: [UInt8(number & 0xFF)], path: path, peerIndex: peerIndex), of: peerIndex)
    }

    @Test("waiting handshakes are served round robin, and those beyond the bounds are dropped")
    func bound() {
        var queue = HandshakeQueue()
        var now = Instant(nanoseconds: 5_000_000_000)
        var passed = 0
        while queue.mayPass(at: now) { passed += 1 }
        #expect(passed == HandshakeQueue.slice)
        for number in 0..<1_000 { Self.append(number, of: 0, to: &queue) }
        #expect(queue.count == HandshakeQueue.capacityOfPeer && queue.next(at: now) == nil)
        for peer in 1...3 { for number in 0..<2 { Self.append(number, of: peer, to: &queue) } }
        var order: [Int] = []
        while let deadline = queue.deadline {
            #expect(deadline - now == HandshakeQueue.interval)
            now = deadline
            while let entry = queue.next(at: now) {
                if case .viewer(let peer) = entry.peerIndex { order.append(peer * 10 + Int(entry.bytes[0])) }
            }
            #expect(!queue.mayPass(at: now) || queue.count == 0)
        }
        #expect(order == [0, 10, 20, 30, 1, 11, 21, 31, 2, 3, 4, 5, 6, 7])
    }

    @Test("when the queue is full, a new peer replaces an entry of a peer with several, and no peer loses its only one")
    func full() {
        var queue = HandshakeQueue()
        let peers = HandshakeQueue.capacity / HandshakeQueue.capacityOfPeer
        for peer in 0..<peers {
            for number in 0..<HandshakeQueue.capacityOfPeer { Self.append(number, of: peer, to: &queue) }
        }
        #expect(queue.count == HandshakeQueue.capacity)
        for peer in 0..<HandshakeQueue.capacity { Self.append(0, of: peers + peer, to: &queue) }
        #expect(queue.count == HandshakeQueue.capacity)
        var served: Set<PeerIndex> = []
        var now = Instant(nanoseconds: 5_000_000_000)
        while queue.count > 0 {
            now += HandshakeQueue.interval
            while let entry = queue.next(at: now) { served.insert(entry.peerIndex) }
        }
        #expect(served.isSuperset(of: (0..<peers).map { PeerIndex.viewer($0) }))
        #expect(served.count > peers)
    }

    @Test("a datagram belongs to a handshake only if it consists of complete records")
    func records() {
        func isRecords(_ bytes: [UInt8]) -> Bool { bytes.withByteView { HandshakeQueue.isMadeOfRecords($0) } }
        let record: [UInt8] = [22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 1, 2, 3]
        #expect(isRecords(record) && isRecords(record + record))
        #expect(isRecords([22, 0xFE, 0xFF] + record.dropFirst(3)))
        let others: [[UInt8]] = [
            [], [22, 0xFE, 0xFD], Array(record.dropLast()), record + [0], record + [22],
            [22, 3, 3] + record.dropFirst(3),
            [30] + record.dropFirst(), Array(record.prefix(11)) + [0, 0], Array(record.prefix(11)) + [0xFF, 0xFF, 1],
        ]
        for bytes in others {
            #expect(!isRecords(bytes), "\(bytes)")
        }
    }
}

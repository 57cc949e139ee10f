import PCastCore
import PCastSFU
import PCastTestSupport
import PCastWebRTC
import Testing

/// A client without a connection to the platform for a while.
struct OutageTests {
    @Test("a call that could not send for longer than its log lasts resumes with a new key frame")
    func goesOnAfterOutage() throws {
        let network = VirtualNetwork(offersTCP: true)
        network.link.carriesUDP = false
        let publisher = try network.publish(.vp8, audio: false)
        let viewer = try network.view()
        var wayBack: NetworkPath?
        network.onSending = { _, path in
            if path.remote == publisher.addresses[0] { wayBack = path }
        }
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var frames = TestFrames(.vp8)
        network.send(frames.next(), from: publisher)
        #expect(network.run { viewer.video.count == 1 })

        let broken = try #require(wayBack)
        publisher.pathClosed(
            NetworkPath(transport: broken.transport, local: broken.remote, remote: broken.local), at: network.now)
        let requests = publisher.keyFrameRequests
        // Each frame has two packets, and the log has a capacity of 1024.
        for _ in 0..<600 { publisher.connection.send(frames.next(), at: network.now) }
        network.deliverAll(publisher)
        #expect(network.run { publisher.keyFrameRequests > requests })

        let keyFrame = frames.next(isKeyFrame: true)
        network.send(keyFrame, from: publisher)
        #expect(network.run { viewer.video.count == 2 })
        #expect(viewer.video.last?.frame.bytes == keyFrame.bytes)
    }

    @Test("after an outage of either end the next frame is a new one", arguments: [true, false])
    func goesOnWithTheNewest(isViewers: Bool) throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        let cut = isViewers ? viewer : publisher
        cut.link.both { $0.isDown = true }
        broadcast.send(200, from: publisher, by: network)
        cut.link.both { $0.isDown = false }
        let (seen, end) = (viewer.video.count, broadcast.sent.count)
        broadcast.send(100, from: publisher, by: network)
        let numbers = viewer.video.dropFirst(seen).compactMap { broadcast.number(of: $0.frame) }
        #expect(try #require(numbers.first) > end - 10, "no frame of the four seconds without viewers is sent")
        #expect(numbers.count > 80)
    }

    @Test("the connections of a peer that has left are closed")
    func closesConnections() throws {
        let network = VirtualNetwork(offersTCP: true)
        network.link.carriesUDP = false
        let publisher = try network.publish(.vp8, audio: false)
        #expect(network.run { publisher.isConnected })
        var connection: NetworkPath?
        network.onSending = { _, path in connection = path }
        network.sfu.end(publisher.id, reason: .ended, at: network.now)
        network.settleRelay()
        let path = try #require(connection)
        #expect(path.transport != .udp)
        #expect(network.events.suffix(2) == [.ended(publisher.id, .ended), .closeConnection(path)])
        #expect(network.sfu.peerCount == 0)
    }
}

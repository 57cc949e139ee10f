import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

/// One viewer in a hundred has a bad network.
struct BadViewerTests {
    private static let viewers = 100

    @Test("one viewer's bad network has no effect on the audio and video of the others")
    func othersNoticeNothing() throws {
        let network = VirtualNetwork(seed: 4, maximumPeers: Self.viewers + 1)
        let publisher = try network.publish(.h264)
        network.link = VirtualNetwork.Link(loss: 20, delay: .milliseconds(150), jitter: .milliseconds(50))
        network.link.down.rate = .kilobits(200)
        let bad = try network.view()
        network.link = VirtualNetwork.Link()
        let others = try (1..<Self.viewers).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && others.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.h264)
        broadcast.send(20, from: publisher, by: network)
        // The viewer repeats its requests for packets and key frames.
        let requests = publisher.beginnings
        for _ in 0..<100 {
            bad.connection.requestKeyFrame()
            broadcast.send(1, from: publisher, by: network)
        }
        network.run(for: .milliseconds(200))
        #expect(bad.connection.statistics.nackCount > 0)
        // A key frame costs bandwidth for every viewer, so there is at most one each half second.
        #expect(publisher.beginnings - requests <= 5)
        for viewer in others {
            let recorder = ViewerRecorder(viewer: viewer, broadcast: broadcast)
            #expect(recorder.offences().isEmpty)
            let received = recorder.received(ofLast: 100)
            #expect(received.videoFrames == 100 && received.audioFrames == 100)
            #expect(recorder.longestWay(ofLast: 100) <= .milliseconds(60))
            #expect(viewer.connection.statistics.nackCount == 0)
        }
    }

    @Test("a viewer that keeps requesting key frames receives few, and another viewer's request is answered at once")
    func keyFrameRequestFlood() throws {
        let network = VirtualNetwork(seed: 5)
        let publisher = try network.publish(.vp8)
        let broken = try network.scriptViewer()
        let others = try (0..<3).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && broken.isConnected && others.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.vp8)
        broadcast.send(50, from: publisher, by: network)
        let ssrc = try #require(broken.media(.video).remoteSources.first?.ssrc)
        let before = publisher.beginnings
        // One minute. With the interval that all viewers share it would be 150.
        for _ in 0..<600 {
            broken.report { $0.pictureLossIndication(senderSSRC: 9, mediaSSRC: ssrc) }
            network.deliverAll(broken)
            broadcast.send(5, from: publisher, by: network)
        }
        let wasted = publisher.beginnings - before
        #expect((25...36).contains(wasted), "\(wasted)")
        others[0].connection.requestKeyFrame()
        network.deliverAll(others[0])
        broadcast.send(25, from: publisher, by: network)
        let granted = broadcast.sent.suffix(25).count(where: \.isKeyFrame)
        #expect(granted == 1)
    }
}

import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// Key frames for new viewers: when they are replayed, and when they are requested.
struct JoiningTests {
    private func connectedPublisher(_ network: VirtualNetwork) throws -> CallPeer {
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        return publisher
    }

    @Test("a viewer that joins within 500 ms of a key frame receives it at once, without a request")
    func cachedKeyFrameOnJoin() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        broadcast.send(5, from: publisher, by: network)
        let viewer = try network.view()
        broadcast.send(6, from: publisher, by: network)
        #expect(viewer.isConnected)
        broadcast.send(30, from: publisher, by: network)
        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        #expect(seen == Array(0..<seen.count) && seen.count >= 38)
        #expect(publisher.keyFrameRequests == 0)
    }

    @Test("a viewer that joins two seconds after a key frame causes exactly one request")
    func joinerAsksOnce() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        let viewer = try network.view()
        broadcast.send(50, from: publisher, by: network)
        #expect(publisher.keyFrameRequests == 1)
        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        let first = try #require(seen.first)
        #expect(broadcast.sent[first].isKeyFrame && first > 100 && first < 110)
        #expect(seen == Array(first..<first + seen.count))
    }

    @Test("ten viewers that join together cause one request for a key frame")
    func simultaneousJoinsShareOneRequest() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: publisher, by: network)
        let viewers = try (0..<10).map { _ in try network.view() }
        broadcast.send(50, from: publisher, by: network)
        #expect(publisher.keyFrameRequests == 1)
        let first = broadcast.sent.lastIndex { $0.isKeyFrame }
        #expect(viewers.allSatisfy { $0.video.first.flatMap { broadcast.number(of: $0.frame) } == first })
    }

    @Test("a viewer that starts at an earlier key frame catches up in half of that time, with unchanged timestamps")
    func catchUpFromEarlierKeyFrame() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        // This takes 340 ms, and it takes another 40 ms until the viewer has its keys.
        broadcast.send(17, from: publisher, by: network)
        let viewer = try network.view()
        broadcast.send(80, from: publisher, by: network)
        #expect(publisher.keyFrameRequests == 0)
        let first = try #require(viewer.videoTimes.first)
        #expect(first - broadcast.instants[0] >= .milliseconds(380))
        #expect(broadcast.keepsTime(viewer.video.map(\.frame)))
        // The delay from the publisher to the viewer is 20 ms.
        let lags = viewer.videoTimes.enumerated().map { $1 - broadcast.instants[$0] }
        let caughtUp = try #require(lags.firstIndex { $0 <= .milliseconds(30) })
        #expect(viewer.videoTimes[caughtUp] - first <= .milliseconds(200))
        #expect(
            lags.dropFirst(caughtUp).allSatisfy { $0 <= .milliseconds(30) }, "the viewer must stay at the live edge")
    }

    @Test("a viewer of the SDK receives the first key frame two round trips after its answer: ICE and half of DTLS")
    func twoRoundTrips() throws {
        let network = VirtualNetwork()
        network.link.delay = .milliseconds(50)
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        // The first key frame needs 50 ms to the SFU.
        broadcast.send(5, from: publisher, by: network)
        let answered = network.now
        let viewer = try network.view()
        broadcast.send(20, from: publisher, by: network)
        let wait = try #require(viewer.videoTimes.first) - answered
        #expect(wait >= .milliseconds(200) && wait <= .milliseconds(230), "\(wait)")
        #expect(publisher.keyFrameRequests == 0)
    }

    @Test("if a publisher's first packets are lost, a key frame is requested as soon as a viewer waits")
    func lostFirstPackets() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(.h264)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        func send(_ sequence: UInt16, _ payload: [UInt8], marker: Bool = true, frame: UInt32) {
            publisher.say(.video, sequence: sequence, timestamp: frame * 3_000, payload: payload, marker: marker)
            network.deliverAll(publisher)
            network.run(for: .milliseconds(20))
        }
        let filling = [UInt8](repeating: 7, count: 100)
        // This is the end of an IDR picture, whose parameter sets and beginning are missing, and frames that depend on
        // it.
        send(40, [0x7C, 0x45] + filling, frame: 0)
        for number in 1...5 { send(40 + UInt16(number), [0x41, 0x9A] + filling, frame: UInt32(number)) }
        #expect(publisher.pictureLossIndications >= 1)
        #expect(viewer.packets.isEmpty)
        send(46, [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x01], marker: false, frame: 6)
        send(47, [0x68, 0xCE, 0x3C, 0x80], marker: false, frame: 6)
        send(48, [0x65, 0x88] + filling, frame: 6)
        #expect(viewer.packets.map { $0.payload[0] } == [0x67, 0x68, 0x65])
    }

    @Test("a request for a key frame is repeated until the key frame arrives")
    func repeatsKeyFrameRequest() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var video = ScriptedVideo()
        for _ in 0..<30 { video.send(from: publisher, by: network) }
        let asked = publisher.pictureLossIndications
        #expect((4...7).contains(asked))
        #expect(viewer.video.isEmpty)
        video.send(isKeyFrame: true, from: publisher, by: network)
        let atKeyFrame = publisher.pictureLossIndications
        for _ in 0..<30 { video.send(from: publisher, by: network) }
        #expect(publisher.pictureLossIndications == atKeyFrame)
        #expect(viewer.video.count >= 29 && viewer.video[0].frame.isKeyFrame)
    }

    @Test("requests end after twenty attempts if the source never answers")
    func givesUp() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var video = ScriptedVideo()
        for _ in 0..<300 { video.send(from: publisher, by: network) }
        #expect(publisher.pictureLossIndications == KeyFrameRequester.maximumAttempts)
        video.send(isKeyFrame: true, from: publisher, by: network)
        video.send(from: publisher, by: network)
        #expect(viewer.packets.count == 2)
    }

    @Test("a viewer of a source that cannot be asked begins at its newest key frame, however old")
    func noFeedback() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(feedback: [])
        #expect(network.run { publisher.isConnected })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        for _ in 0..<90 { video.send(from: publisher, by: network) }
        let viewer = try network.view()
        for _ in 0..<20 { video.send(from: publisher, by: network) }
        network.run(for: .milliseconds(300))
        #expect(viewer.video.map(\.frame.bytes) == video.frames)
        #expect(publisher.pictureLossIndications == 0)
    }

    @Test("a viewer's full intra request reaches the publisher, and its repetition does not")
    func fullIntraRequestReachesPublisher() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        let viewer = try network.scriptViewer()
        var broadcast = Broadcast(.vp8)
        broadcast.answersRequests = false
        broadcast.send(50, from: publisher, by: network)
        let before = publisher.keyFrameRequests
        let ssrc = try #require(viewer.media(.video).remoteSources.first?.ssrc)
        viewer.report { $0.fullIntraRequest(senderSSRC: 9, mediaSSRC: ssrc, sequenceNumber: 5) }
        network.deliverAll(viewer)
        network.run(for: .milliseconds(100))
        #expect(publisher.keyFrameRequests > before)
        let statistics = network.sfu.statistics(of: viewer.id)
        #expect(statistics?.pliCount == 1)
        viewer.report { $0.fullIntraRequest(senderSSRC: 9, mediaSSRC: ssrc, sequenceNumber: 5) }
        network.deliverAll(viewer)
        network.run(for: .milliseconds(100))
        #expect(network.sfu.statistics(of: viewer.id)?.pliCount == 1)
    }
}

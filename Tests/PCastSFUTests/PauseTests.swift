import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// A publisher is paused while nobody subscribes to its stream (RFC 7728).
struct PauseTests {
    private func connectedPublisher(_ network: VirtualNetwork, _ stream: StreamID? = nil) throws -> CallPeer {
        let publisher = try network.publish(.vp8, stream: stream ?? VirtualNetwork.stream)
        #expect(network.run { publisher.isConnected })
        return publisher
    }

    /// Returns a publisher that has been paused for a while.
    private func pausedPublisher(_ network: VirtualNetwork, _ broadcast: inout Broadcast) throws -> CallPeer {
        let publisher = try connectedPublisher(network)
        broadcast.send(250, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        return publisher
    }

    private func leave(_ viewer: CallPeer, _ network: VirtualNetwork) {
        viewer.connection.close(at: network.now)
        network.deliverAll(viewer)
    }

    private func packets(_ publisher: CallPeer, _ network: VirtualNetwork) -> Int {
        network.sfu.statistics(of: publisher.id)?.packets ?? -1
    }

    // MARK: Conditions

    @Test("a stream without viewers is paused two seconds after its first packet, and sends nothing more")
    func pauses() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        broadcast.send(99, from: publisher, by: network)
        #expect(!publisher.events.contains(.paused(.video)))
        broadcast.send(3, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        #expect(network.events.contains(.mediaStarted(publisher.id)))
        network.run(for: .milliseconds(10))
        // The publisher reported its last sequence number.
        for track in [network.sfu.forwarder.streams[0].receiver.video, network.sfu.forwarder.streams[0].receiver.audio]
        {
            let last = try #require(track?.pause?.lastSequenceNumber)
            #expect(last == track?.statistics?.highestSequenceNumber)
        }
        let count = packets(publisher, network)
        broadcast.send(200, from: publisher, by: network)
        #expect(packets(publisher, network) == count)
        #expect(publisher.events.count { $0 == .paused(.video) || $0 == .paused(.audio) } == 2)
    }

    @Test("a stream is paused two seconds after its last viewer left, and not if another joins before")
    func lastViewerLeaves() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        for _ in 0..<4 {
            let viewers = [try network.view(), try network.view()]
            broadcast.send(60, from: publisher, by: network)
            leave(viewers[0], network)
            broadcast.send(120, from: publisher, by: network)
            leave(viewers[1], network)
            broadcast.send(90, from: publisher, by: network)
            #expect(!publisher.events.contains(.paused(.video)) && !publisher.events.contains(.paused(.audio)))
        }
        broadcast.send(20, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
    }

    @Test("a viewer that never connects delays a pause only until its setup deadline")
    func viewerThatNeverComes() throws {
        let network = VirtualNetwork(setupTimeout: .seconds(10 as Int64))
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        network.link.carriesUDP = false
        _ = try network.view()
        broadcast.send(500, from: publisher, by: network)
        #expect(!publisher.isPaused(.video))
        broadcast.send(150, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
    }

    @Test("only the track without subscribers is paused")
    func oneTrack() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        let listener = try network.view(video: false)
        var broadcast = Broadcast(.vp8)
        broadcast.send(200, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && !publisher.isPaused(.audio))
        #expect(listener.audio.count >= 190)
        let viewer = try network.view()
        broadcast.send(50, from: publisher, by: network)
        #expect(!publisher.isPaused(.video) && viewer.video.count > 40)
    }

    @Test("of two publishers, only the one without viewers is paused")
    func twoPublishers() throws {
        let network = VirtualNetwork()
        let (first, second) = (try connectedPublisher(network), try connectedPublisher(network, StreamID("other")))
        let viewer = try network.view(stream: StreamID("other"))
        var broadcasts = [Broadcast(.vp8), Broadcast(.vp8, seed: 2)]
        func send(_ count: Int) {
            for _ in 0..<count {
                broadcasts[0].send(1, from: first, by: network)
                broadcasts[1].send(1, from: second, by: network)
            }
        }
        send(120)
        #expect(first.isPaused(.video) && !second.isPaused(.video))
        leave(viewer, network)
        let other = try network.view()
        send(120)
        #expect(!first.isPaused(.video) && second.isPaused(.video))
        #expect(other.video.count > 100)
    }

    // MARK: Joining

    /// Returns how long after its request a viewer has the first frame of a source with one frame every 20 ms.
    private func joinTime(isPaused: Bool, publisher near: TimeSpan, viewer far: TimeSpan) throws -> TimeSpan {
        let network = VirtualNetwork()
        network.link.delay = near
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        // A stream with a viewer is not paused. A stream without one had its last key frame long ago.
        let watcher = isPaused ? nil : try network.view()
        broadcast.send(250, from: publisher, by: network)
        #expect(publisher.isPaused(.video) == (watcher == nil))
        network.link.delay = far
        let called = network.now
        let viewer = try network.view()
        broadcast.send(200, from: publisher, by: network)
        let first = try #require(viewer.video.first)
        #expect(first.frame.isKeyFrame)
        return first.arrival - called
    }

    @Test(
        "a pause delays no join by more than one frame interval",
        arguments: [1, 10, 50, 200] as [Int64], [1, 10, 50, 200] as [Int64])
    func joins(near: Int64, far: Int64) throws {
        let (near, far) = (TimeSpan.milliseconds(near), TimeSpan.milliseconds(far))
        let playing = try joinTime(isPaused: false, publisher: near, viewer: far)
        let paused = try joinTime(isPaused: true, publisher: near, viewer: far)
        #expect(paused <= playing + Broadcast.interval)
        // The viewer needs one round trip for checks and another one for the handshake, and the frame arrives with its end.
        #expect(paused >= far * 4)
    }

    @Test("a viewer of a paused stream receives all frames from its first key frame on, without a NACK")
    func seesEverything() throws {
        let network = VirtualNetwork()
        var broadcast = Broadcast(.vp8)
        let publisher = try pausedPublisher(network, &broadcast)
        let viewer = try network.view()
        let joined = broadcast.sent.count
        broadcast.send(100, from: publisher, by: network)
        network.run(for: .milliseconds(100))
        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        let first = try #require(seen.first)
        #expect(first >= joined && first <= joined + 3 && broadcast.sent[first].isKeyFrame)
        #expect(seen == Array(first..<broadcast.sent.count))
        #expect(broadcast.sent[joined...].count(where: \.isKeyFrame) == 1)
        let heard = viewer.audio.map { broadcast.number(of: $0) ?? -1 }
        #expect(heard == Array((heard.first ?? 0)..<broadcast.sent.count) && heard.count > 90)
        #expect(broadcast.keepsTime(viewer.video.map(\.frame)) && broadcast.keepsTime(viewer.audio))
        #expect(viewer.gaps.isEmpty)
        let sfu = network.sfu.statistics(of: publisher.id)
        #expect(sfu?.nackCount == 0 && sfu?.packetsLost == 0)
        #expect(publisher.connection.statistics.packetsRetransmitted == 0)
    }

    @Test("viewers that join together all receive the key frame at which the publisher resumes")
    func manyJoin() throws {
        let network = VirtualNetwork()
        var broadcast = Broadcast(.vp8)
        let publisher = try pausedPublisher(network, &broadcast)
        let viewers = try (0..<10).map { _ in try network.view() }
        broadcast.send(50, from: publisher, by: network)
        #expect(publisher.events.count { $0 == .resumed(.video) } == 1 && publisher.keyFrameRequests == 0)
        let first = broadcast.sent.lastIndex { $0.isKeyFrame }
        #expect(viewers.allSatisfy { $0.video.first.flatMap { broadcast.number(of: $0.frame) } == first })
    }

    @Test("frames from the pause, and frames before the first key frame after it, are not sent")
    func beginsWithKeyFrame() throws {
        let network = VirtualNetwork()
        var broadcast = Broadcast(.vp8)
        let publisher = try pausedPublisher(network, &broadcast)
        broadcast.answersRequests = false
        func received() -> Int? { network.sfu.forwarder.streams[0].receiver.video?.packetsReceived }
        let before = received()
        let viewer = try network.view()
        broadcast.send(20, from: publisher, by: network)
        #expect(!publisher.isPaused(.video) && received() == before && viewer.audio.count > 10)
        let keyFrame = broadcast.videoFrames.next(isKeyFrame: true)
        network.send(keyFrame, from: publisher)
        network.run(for: .milliseconds(50))
        #expect(viewer.video.map(\.frame.bytes) == [keyFrame.bytes])
    }

    @Test("no viewer receives frames from before the pause, however recent they are")
    func showsNothingOld() throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8, keyFrameInterval: 7)
        while !publisher.isPaused(.video) { broadcast.send(1, from: publisher, by: network) }
        broadcast.send(2, from: publisher, by: network)
        let viewer = try network.view()
        let joined = broadcast.sent.count
        broadcast.send(20, from: publisher, by: network)
        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        let first = try #require(seen.first)
        #expect(first >= joined && seen == Array(first..<first + seen.count) && seen.count > 10)
    }

    // MARK: During a pause

    @Test("a publisher that is paused for a minute stays connected, and no packet counts as lost")
    func longPause() throws {
        let network = VirtualNetwork()
        var broadcast = Broadcast(.vp8)
        broadcast.videoFrames.timestampInterval = 1800
        let publisher = try pausedPublisher(network, &broadcast)
        let spins = network.spins
        broadcast.send(3000, from: publisher, by: network)
        #expect(network.time(of: .away(publisher.id)) == nil && !publisher.events.contains(.away))
        #expect(network.spins == spins)
        let viewer = try network.view()
        let joined = broadcast.sent.count
        broadcast.send(150, from: publisher, by: network)
        let statistics = publisher.connection.statistics
        #expect(statistics.fractionLost == 0 && statistics.nackCount == 0)
        let roundTrip = try #require(statistics.roundTrip)
        #expect(abs((roundTrip - .milliseconds(20)).nanoseconds) < 1_000_000)
        let sfu = network.sfu.statistics(of: publisher.id)
        #expect(sfu?.packetsLost == 0 && sfu?.nackCount == 0)

        // Sender reports state the time of the first frames after the pause by extrapolation.
        let frames = viewer.video.map(\.frame) + viewer.audio
        #expect(viewer.video.count > 140 && viewer.audio.count > 140)
        for frame in frames {
            let number = try #require(broadcast.number(of: frame))
            #expect(number >= joined)
            guard let captured = frame.captureTime, let said = broadcast.sent[number].captureTime else { continue }
            #expect(abs((captured - said - .milliseconds(10)).nanoseconds) < 2_000_000)
        }
        #expect(frames.count { $0.captureTime != nil } > 280)
        let received = viewer.connection.statistics
        #expect(received.packetsLost == 0 && received.video?.framesDropped == 0 && received.nackCount == 0)
        #expect(received.video?.resynchronizations == 0)
    }

    @Test("a clock that drifted during a pause is reported with the first packet after it")
    func clockRunsAway() throws {
        let network = VirtualNetwork()
        var broadcast = Broadcast(.vp8)
        let publisher = try pausedPublisher(network, &broadcast)
        // Audio advances 100 ms more than the time that passed.
        broadcast.audio.firstTicks += 4800
        _ = try network.view()
        func error() throws -> TimeSpan {
            let newest = network.sfu.forwarder.streams[0].audio.log.end - 1
            let timestamp = network.sfu.forwarder.streams[0].audio.log[newest].timestamp
            let captured = try #require(network.sfu.forwarder.streams[0].audio.captureClock?.wallTime(of: timestamp))
            return captured - (VirtualNetwork.clock.wallTime(at: network.now) - Broadcast.interval)
        }
        while publisher.isPaused(.audio) { broadcast.send(1, from: publisher, by: network) }
        broadcast.send(2, from: publisher, by: network)
        let difference = try error() - .milliseconds(10)
        #expect(abs(difference.nanoseconds) < 2_000_000)
    }

    @Test("a viewer that stays during a pause loses no frame, and its video freezes once")
    func throughAPause() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        for _ in 0..<60 { video.send(from: publisher, by: network) }
        // The publisher pauses by itself. Its sequence numbers continue, and its timestamps advance by more than half
        // of their range.
        let pause = TimeSpan.seconds(60 as Int64)
        network.run(for: pause)
        video.timestamp &+= UInt32(pause.seconds * 90_000)
        video.send(isKeyFrame: true, from: publisher, by: network)
        for _ in 0..<60 { video.send(from: publisher, by: network) }
        network.run(for: .milliseconds(500))
        #expect(viewer.video.count == 122)
        let statistics = viewer.connection.statistics
        #expect(statistics.packetsLost == 0 && statistics.nackCount == 0)
        #expect(statistics.video?.framesDropped == 0 && statistics.video?.resynchronizations == 0)
        #expect(statistics.jitter.map { $0 < .milliseconds(5) } == true)
        // At 30 frames per second, a longer interval is a freeze (webrtc-stats, `freezeCount`).
        let arrivals = viewer.video.map { $0.1 }
        #expect(zip(arrivals, arrivals.dropFirst()).count { $1 - $0 > .milliseconds(183) } == 1)
    }

    // MARK: Loss

    @Test("with 30 % loss in both directions a stream is still paused and resumed", arguments: UInt64(1)...20)
    func loss(seed: UInt64) throws {
        let network = VirtualNetwork(seed: seed)
        network.link.jitter = .milliseconds(15)
        let publisher = try connectedPublisher(network)
        publisher.link.loss = 30
        var broadcast = Broadcast(.vp8, seed: seed)
        broadcast.send(50, from: publisher, by: network)
        for round in 0..<6 {
            let viewer = try network.view()
            broadcast.send(150, from: publisher, by: network)
            #expect(!publisher.isPaused(.video) && !publisher.isPaused(.audio), "round \(round)")
            #expect(viewer.audio.count > 40, "round \(round)")
            // The packets may still be lost on the way to the viewer.
            #expect(network.sfu.forwarder.streams[0].layers[0].log.newestKeyFrame != nil, "round \(round)")
            leave(viewer, network)
            broadcast.send(100 + Int(seed) * 10, from: publisher, by: network)
            guard seed > 10 else { continue }
            // A request with an old pause ID is refused at most once per second (RFC 7728, section 8.5), and the
            // refusal may be lost.
            for _ in 0..<5 where !publisher.isPaused(.video) || !publisher.isPaused(.audio) {
                broadcast.send(50, from: publisher, by: network)
            }
            #expect(publisher.isPaused(.video) && publisher.isPaused(.audio), "round \(round)")
        }
    }

    @Test("a viewer that joins while a pause is being requested receives video soon", arguments: 0..<12)
    func race(step: Int) throws {
        let network = VirtualNetwork()
        let publisher = try connectedPublisher(network)
        var broadcast = Broadcast(.vp8)
        broadcast.send(99, from: publisher, by: network)
        network.run(for: .milliseconds(Int64(step) * 5))
        let viewer = try network.view()
        broadcast.send(100, from: publisher, by: network)
        #expect(!publisher.isPaused(.video) && !publisher.isPaused(.audio))
        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        let first = try #require(seen.first)
        #expect(first <= 108 && seen == Array(first..<first + seen.count) && seen.count >= 90)
    }
}

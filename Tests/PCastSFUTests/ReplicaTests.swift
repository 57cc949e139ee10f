import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// A stream with viewers on two shards.
struct ReplicaTests {
    private struct InMemoryHarness {
        let network: VirtualNetwork
        let publisher: CallPeer
        let here: CallPeer
        let beside: CallPeer
        var broadcast: Broadcast

        init(_ codec: Codec = .vp8, seed: UInt64 = 1, layers: Int = 1, link: VirtualNetwork.Link = .init()) throws {
            network = VirtualNetwork(seed: seed, shards: 2)
            network.link = link
            publisher = try network.publish(codec, layers: layers)
            here = try network.view()
            beside = try network.viewBeside()
            let (publisher, here, beside) = (publisher, here, beside)
            #expect(network.run { publisher.isConnected && here.isConnected && beside.isConnected })
            broadcast = Broadcast(codec)
        }

        mutating func send(_ count: Int) { broadcast.send(count, from: publisher, by: network) }
    }

    @Test("viewers on both shards receive all audio and video at the same time", arguments: [.vp8, .h264] as [Codec])
    func whole(codec: Codec) throws {
        var stage = try InMemoryHarness(codec)
        stage.send(300)
        stage.network.run(for: .seconds(1))
        for viewer in [stage.here, stage.beside] {
            #expect(viewer.video.count { stage.broadcast.isSame($0.frame) } == 300)
            #expect(viewer.audio.count { stage.broadcast.number(of: $0) != nil } == 300)
            #expect(stage.broadcast.keepsTime(viewer.video.map(\.frame)))
        }
        let apart = zip(stage.here.videoTimes, stage.beside.videoTimes).map { abs(($0 - $1).milliseconds) }
        #expect(apart.max() ?? 0 < 2)
        #expect(stage.network.peerShard?.peerCount == 1 && stage.network.sfu.peerCount == 2)
    }

    @Test("packets that are lost before the publisher's shard or after the replica are retransmitted", arguments: 1...4)
    func losses(seed: Int) throws {
        var stage = try InMemoryHarness(
            seed: UInt64(seed), link: .init(loss: 3, delay: .milliseconds(20), jitter: .milliseconds(3)))
        stage.send(500)
        stage.network.run(for: .seconds(1))
        for viewer in [stage.here, stage.beside] {
            #expect(viewer.video.count > 470, "\(viewer.video.count)")
            #expect(viewer.video.count { !stage.broadcast.isSame($0.frame) } == 0)
        }
    }

    @Test("a viewer that joins a replica later sees video within a round trip")
    func joining() throws {
        var stage = try InMemoryHarness()
        stage.send(200)
        let late = try stage.network.viewBeside()
        let came = stage.network.now
        stage.send(100)
        let first = try #require(late.videoTimes.first)
        #expect(first - came < .milliseconds(400))
        #expect(late.video.count > 80)
        #expect(stage.beside.video.count >= 295)
    }

    @Test("a new replica has the state that the publisher sent only once, such as SSRCs of layers and clocks")
    func beginning() throws {
        let network = VirtualNetwork(shards: 2)
        let publisher = try network.publish(.vp8, audio: true, layers: 3)
        let here = try network.view()
        #expect(network.run { publisher.isConnected && here.isConnected })
        var videoFrames = (0..<3).map { TestFrames(.vp8, seed: UInt64($0 + 1)) }
        var audio = TestFrames(.opus)
        for _ in 0..<150 {
            let captured = VirtualNetwork.clock.wallTime(at: network.now)
            network.send(audio.next(captureTime: captured), from: publisher)
            for layer in 0..<3 {
                network.send(videoFrames[layer].next(captureTime: captured), layer: layer, from: publisher)
            }
            network.run(for: .milliseconds(20))
        }
        let snapshot = try network.sfu.replicate(VirtualNetwork.stream, to: 1, at: network.now)
        network.peerShard?.enterReplica(snapshot, of: 0, at: network.now)
        let original = network.sfu.forwarder.streams.address(0)
        let sources = original.pointee.receiver.layers.map(\.ssrc)
        #expect(Set(sources.compactMap { $0 }).count == 3)
        #expect(network.peerShard?.forwarder.streams[0].receiver.layers.map(\.ssrc) == sources)
        #expect(network.peerShard?.forwarder.streams[0].receiver.audio?.ssrc == original.pointee.receiver.audio?.ssrc)
        #expect(original.pointee.audio.captureClock != nil)
        #expect(network.peerShard?.forwarder.streams[0].audio.captureClock == original.pointee.audio.captureClock)
        for layer in 0..<3 {
            let (clock, bitrate) = (original.pointee.layers[layer].captureClock, original.pointee.layers[layer].bitrate)
            #expect(network.peerShard?.forwarder.streams[0].layers[layer].captureClock == clock)
            #expect(network.peerShard?.forwarder.streams[0].layers[layer].bitrate == bitrate)
        }
        #expect(network.peerShard?.forwarder.streams[0].ladder == original.pointee.ladder)
        let wanted = (network.peerShard?.forwarder.streams[0].desiredBitrate, original.pointee.desiredBitrate)
        #expect(wanted.0 == wanted.1)
    }

    @Test("the links of a replica that has ended no longer count")
    func links() throws {
        var stage = try InMemoryHarness()
        stage.send(200)
        #expect(stage.network.sfu.forwarder.streams[0].replicas.map(\.links.counted) == [1])
        stage.network.peerShard?.end(publisher: 0, reason: .failed, at: stage.network.now)
        stage.network.settleRelay()
        #expect(stage.network.sfu.forwarder.streams[0].replicas.map(\.links) == [StreamReplica.Links()])
        #expect(
            stage.network.sfu.forwarder.streams[0].replicas.map(\.subscribers) == [StreamReplica.SubscribedTracks()])
    }

    @Test("a request for a key frame at a replica reaches the publisher")
    func keyFrame() throws {
        var stage = try InMemoryHarness()
        stage.send(100)
        let requests = stage.publisher.keyFrameRequests
        stage.network.peerShard?.forwarder.requestKeyFrame(stream: 0, layer: 0)
        stage.network.settleRelay()
        stage.send(50)
        #expect(stage.publisher.keyFrameRequests == requests + 1)
    }

    @Test("a publisher is paused when no shard has subscribers, and resumes for a viewer of a replica")
    func pausesWithoutSubscribers() throws {
        var stage = try InMemoryHarness()
        stage.send(100)
        let (network, publisher) = (stage.network, stage.publisher)
        network.sfu.end(stage.here.id, reason: .ended, at: network.now)
        network.settleRelay()
        stage.send(200)
        #expect(!publisher.isPaused(.video))
        network.peerShard?.end(stage.beside.id, reason: .ended, at: network.now)
        network.settleRelay()
        stage.send(500)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        let late = try network.viewBeside()
        #expect(network.run { late.isConnected && !publisher.isPaused(.video) })
        stage.send(100)
        #expect(late.video.count > 70)
    }

    @Test(
        "a replica ends with its stream, and its viewers receive the reason",
        arguments: [.ended, .failed] as [StreamEndedReason])
    func ending(reason: StreamEndedReason) throws {
        var stage = try InMemoryHarness()
        stage.send(50)
        stage.network.sfu.end(stage.publisher.id, reason: reason, at: stage.network.now)
        stage.network.settleRelay()
        #expect(stage.network.endedReason(of: stage.beside.id) == reason)
        #expect(stage.network.endedReason(of: stage.here.id) == reason)
        let ends = stage.network.events.count { if case .ended(stage.publisher.id, _) = $0 { true } else { false } }
        #expect(ends == 1)
        let network = stage.network
        #expect(network.run { network.sfu.peerCount == 0 && network.peerShard?.forwarder.streams.count == 0 })
    }

    @Test("a replica ends by itself if its publisher's shard is silent")
    func silentPublisherShard() throws {
        var stage = try InMemoryHarness()
        stage.send(50)
        let network = stage.network
        network.sfu.forwarder.streams[0].replicas = []
        #expect(network.run(within: .seconds(8)) { network.endedReason(of: stage.beside.id) == .failed })
    }

    @Test("the publisher is asked for the bit rate that the links of both shards' viewers carry")
    func sharedLimit() throws {
        var stage = try InMemoryHarness()
        var narrow = VirtualNetwork.Link(delay: .milliseconds(20))
        narrow.down.rate = .kilobits(150)
        stage.beside.link = narrow
        stage.here.link = narrow
        stage.send(900)
        let original = stage.network.sfu.forwarder.streams[0].quality.sharedLimit.bitrate
        let replica = stage.network.peerShard?.forwarder.streams[0].quality.sharedLimit.bitrate
        #expect(original != nil && original == replica)
    }

    @Test("the metrics of a stream cover the viewers of all shards")
    func figures() throws {
        var stage = try InMemoryHarness()
        stage.send(100)
        let all = stage.network.sfu.figures + (stage.network.peerShard?.figures ?? [])
        let merged = StreamMetrics.merged(all)
        #expect(merged.count == 1)
        #expect(merged.first?.viewers == 2)
        #expect(merged.first?.received.packets == stage.network.sfu.figures.first?.received.packets)
        #expect(merged.first?.sent.packets ?? 0 > (stage.network.sfu.figures.first?.sent.packets ?? 0) * 19 / 10)
        #expect(stage.network.sfu.statistics(of: stage.publisher.id)?.viewers == 2)
    }
}

import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Streams that an edge pulls from another SFU.
struct NodeTests {
    /// A publisher at the origin, and viewers at the edge.
    private struct Cascade {
        let network: VirtualNetwork
        let publisher: CallPeer
        let node: NodePeer
        let viewers: [CallPeer]

        init(
            _ codec: Codec, layers: Int = 1, link: VirtualNetwork.Link = .init(), viewers count: Int = 2,
            keepsViewers: Bool = false
        ) throws {
            network = VirtualNetwork()
            publisher = try network.publish(codec, layers: layers)
            network.link = link
            node = try network.addNode(keepsViewers: keepsViewers)
            var viewers: [CallPeer] = []
            for _ in 0..<count { viewers.append(try node.view(using: &network.generator, at: network.now)) }
            self.viewers = viewers
            network.deliverAll(node)
            network.settleRelay()
            let publisher = publisher
            #expect(network.run { publisher.isConnected && viewers.allSatisfy { $0.isConnected } })
        }
    }

    @Test("viewers of an edge receive all audio and video, with its timestamps", arguments: [.vp8, .h264] as [Codec])
    func whole(codec: Codec) throws {
        let cascade = try Cascade(codec)
        var broadcast = Broadcast(codec)
        broadcast.send(150, from: cascade.publisher, by: cascade.network)
        cascade.network.run(for: .seconds(1))
        for viewer in cascade.viewers {
            #expect(viewer.video.count { broadcast.isSame($0.frame) } == 150)
            #expect(viewer.audio.count { broadcast.number(of: $0) != nil } == 150)
            #expect(broadcast.keepsTime(viewer.video.map(\.frame)))
        }
        #expect(cascade.network.sfu.peerCount == 2, "the edge is one viewer of the origin")
        #expect(cascade.publisher.keyFrameRequests <= 2, "the requests of the edge's viewers are merged")
    }

    @Test("the capture times at an edge are those of the origin")
    func captureTimes() throws {
        let cascade = try Cascade(.vp8, link: .init(delay: .milliseconds(40)))
        var broadcast = Broadcast(.vp8)
        broadcast.send(300, from: cascade.publisher, by: cascade.network)
        let clocks = (
            cascade.network.sfu.forwarder.streams[0].layers[0].captureClock,
            cascade.node.edge.forwarder.streams[0].layers[0].captureClock
        )
        let (origin, edge) = (try #require(clocks.0), try #require(clocks.1))
        // The timestamps of both differ by a constant, so the newest packet of each is compared.
        let originEnd = cascade.network.sfu.forwarder.streams[0].layers[0].log.end
        let originNewest = cascade.network.sfu.forwarder.streams[0].layers[0].log[originEnd - 1].timestamp
        let edgeEnd = cascade.node.edge.forwarder.streams[0].layers[0].log.end
        let edgeNewest = cascade.node.edge.forwarder.streams[0].layers[0].log[edgeEnd - 1].timestamp
        let difference = edge.wallTime(of: edgeNewest) - origin.wallTime(of: originNewest)
        // The edge's newest frame is at most three frames older.
        #expect(abs(difference.milliseconds) <= 70)
    }

    @Test("packets that are lost between the nodes are retransmitted by the origin", arguments: 1...2)
    func losses(seed: Int) throws {
        let cascade = try Cascade(
            .vp8, link: .init(loss: 3, delay: .milliseconds(20), jitter: .milliseconds(3)))
        var broadcast = Broadcast(.vp8, seed: UInt64(seed))
        broadcast.send(250, from: cascade.publisher, by: cascade.network)
        cascade.network.run(for: .seconds(1))
        for viewer in cascade.viewers {
            #expect(viewer.video.count > 235, "\(viewer.video.count)")
            #expect(viewer.video.count { !broadcast.isSame($0.frame) } == 0)
        }
    }

    @Test("only the layers that viewers of the edge receive are sent to it, and a layer is switched at the edge")
    func layers() throws {
        let cascade = try Cascade(.vp8, layers: 3, viewers: 1)
        var encoders = LayeredEncoders()
        encoders.send(75, from: cascade.publisher, by: cascade.network)
        for layer in ["l", "h"] {
            try cascade.node.edge.pin(cascade.viewers[0].id, layer: layer, at: cascade.network.now)
            // Both hops wait before they pause a layer.
            encoders.send(200, from: cascade.publisher, by: cascade.network)
            let answer = cascade.node.edge.layers(viewedBy: cascade.viewers[0].id)
            let viewed = try #require(answer)
            #expect(Set(viewed.layers.map(\.name)) == ["l", "m", "h"])
            #expect(viewed.current == layer)
            let before = encoders.made
            encoders.send(25, from: cascade.publisher, by: cascade.network)
            let made = zip(encoders.made, before).map { $0 - $1 }
            let expected = layer == "l" ? [25, 0, 0] : [0, 0, 25]
            #expect(made == expected, "the origin and its publisher pause other layers")
        }
    }

    @Test("a stream that nobody receives at the edge is paused at its publisher, and a new viewer resumes it")
    func paused() throws {
        let cascade = try Cascade(.vp8, viewers: 1)
        var broadcast = Broadcast(.vp8)
        broadcast.send(100, from: cascade.publisher, by: cascade.network)
        cascade.node.edge.end(cascade.viewers[0].id, reason: .ended, at: cascade.network.now)
        cascade.network.deliverAll(cascade.node)
        broadcast.send(400, from: cascade.publisher, by: cascade.network)
        #expect(cascade.publisher.isPaused(.video))
        let late = try cascade.node.view(using: &cascade.network.generator, at: cascade.network.now)
        cascade.network.deliverAll(cascade.node)
        broadcast.send(100, from: cascade.publisher, by: cascade.network)
        #expect(!cascade.publisher.isPaused(.video))
        #expect(late.video.count > 60, "\(late.video.count)")
    }

    @Test("the end of a stream at the origin ends it at the edge")
    func end() throws {
        let cascade = try Cascade(.vp8)
        var broadcast = Broadcast(.vp8)
        broadcast.send(50, from: cascade.publisher, by: cascade.network)
        cascade.network.sfu.end(cascade.publisher.id, reason: .ended, at: cascade.network.now)
        cascade.network.settleRelay()
        cascade.network.run(for: .milliseconds(100))
        #expect(cascade.node.events.contains(.ended(PeerID(1), .ended)))
        #expect(cascade.viewers.allSatisfy { $0.events.contains(.closed) })
    }

    @Test(
        "viewers of an edge continue with another link from a key frame on, and its numbers and timestamps continue",
        arguments: [.vp8, .h264] as [Codec])
    func replacement(codec: Codec) throws {
        let cascade = try Cascade(codec, keepsViewers: true)
        let (network, node) = (cascade.network, cascade.node)
        var broadcast = Broadcast(codec)
        broadcast.send(100, from: cascade.publisher, by: network)
        network.run(for: .milliseconds(400))
        let former = node.edge.forwarder.streams[0].layers[0].log.newestSequence
        let (sequence, ssrc) = (try #require(former), node.edge.forwarder.streams[0].receiver.layers[0].ssrc)

        let other = try OtherLink(codec, at: node, network)
        other.send(to: node, network)
        try node.edge.splice(OtherLink.stream, into: VirtualNetwork.stream, at: network.now)
        network.deliverAll(node)
        let first = node.edge.forwarder.streams[0].layers[0].log.position(ofSequence: sequence + 1)
        #expect(first != nil, "the numbers continue")
        #expect(node.edge.forwarder.streams[0].receiver.layers[0].ssrc == ssrc)
        for _ in 0..<100 { other.send(to: node, network) }
        network.run(for: .seconds(1))
        for viewer in cascade.viewers {
            let frames = viewer.video.map(\.frame)
            #expect(frames.count { broadcast.isSame($0) } == 100)
            #expect(frames.suffix(101).map(\.bytes) == other.video.map(\.bytes))
            #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp.ticks < $1.timestamp.ticks })
            #expect(viewer.audio.suffix(50).map(\.bytes) == other.audio.suffix(50).map(\.bytes))
            #expect(!viewer.events.contains(.closed))
        }
        #expect(network.sfu.peerCount == 1, "the former link is closed at its origin")
        let isLost = node.events.contains { if case .linkLost = $0 { true } else { false } }
        #expect(!isLost)
    }

    @Test("a stream that keeps its viewers remains when its link ends, until it is ended itself")
    func kept() throws {
        let cascade = try Cascade(.vp8, keepsViewers: true)
        var broadcast = Broadcast(.vp8)
        broadcast.send(50, from: cascade.publisher, by: cascade.network)
        cascade.network.sfu.end(cascade.publisher.id, reason: .ended, at: cascade.network.now)
        cascade.network.settleRelay()
        cascade.network.run(for: .seconds(40))
        #expect(cascade.node.events.contains(.linkLost(PeerID(1), .ended)))
        #expect(!cascade.node.events.contains(.ended(PeerID(1), .ended)))
        #expect(cascade.viewers.allSatisfy { !$0.events.contains(.closed) })
        cascade.node.edge.end(PeerID(1), reason: .ended, at: cascade.network.now)
        cascade.network.deliverAll(cascade.node)
        #expect(cascade.node.events.contains(.ended(PeerID(1), .ended)))
        #expect(cascade.viewers.allSatisfy { $0.events.contains(.closed) })
    }

    @Test("an origin that does not respond is given up after the setup time")
    func unreachable() throws {
        let network = VirtualNetwork()
        _ = try network.publish(.vp8)
        let node = NodePeer(PeerID(7), address: network.newAddress(), link: network.link)
        var terms = PeerOptions()
        terms.isNode = true
        let offer = try network.sfu.offerToViewer(PeerID(8), of: VirtualNetwork.stream, terms: terms, at: network.now)
        _ = try node.edge.pull(
            PeerID(1), stream: VirtualNetwork.stream, offer: offer, from: node.addresses[0],
            terms: PeerOptions(setupLimit: .seconds(5)), at: network.now)
        network.add(node)
        network.remove(node)
        node.edge.advance(to: network.now + .seconds(6))
        node.collect(at: network.now)
        #expect(node.events == [.ended(PeerID(1), .failed)])
    }
}

/// A link of an edge to another origin, whose frames are made at the edge.
private final class OtherLink {
    static let stream = StreamID("link")
    private static let peer = PeerID(1_000)
    private var frames: TestFrames
    private var packets: TestFrames
    private(set) var video: [EncodedFrame] = []
    private(set) var audio: [EncodedFrame] = []

    init(_ codec: Codec, at node: NodePeer, _ network: VirtualNetwork) throws {
        frames = TestFrames(codec, seed: 77)
        frames.timestampInterval = codec.clockRate.ticks(in: Broadcast.interval)
        frames.firstTicks = 1_000_000_007
        packets = TestFrames(.opus, seed: 78)
        packets.firstTicks = 1_000_000_009
        try node.edge.publish(
            Self.peer, stream: Self.stream, ingesting: IngestMedia(video: codec, hasAudio: true), at: network.now)
        node.edge.watch(Self.stream, at: network.now)
    }

    /// Sends a frame, of which the first is a key frame, and a packet of audio.
    func send(to node: NodePeer, _ network: VirtualNetwork) {
        let captured = VirtualNetwork.clock.wallTime(at: network.now)
        video.append(frames.next(captureTime: captured))
        audio.append(packets.next(captureTime: captured))
        node.edge.ingest(audio[audio.count - 1], from: Self.peer, at: network.now)
        node.edge.ingest(video[video.count - 1], from: Self.peer, at: network.now)
        network.deliverAll(node)
        network.run(for: Broadcast.interval)
    }
}

/// The encoders of a publisher with three layers, which encode nothing for paused layers.
private struct LayeredEncoders {
    private var layers: [TestFrames]
    private(set) var made = [0, 0, 0]
    private var eventsSeen = 0
    private var isPaused = [false, false, false]
    private var wantsKeyFrame = [true, true, true]

    init() {
        layers = [200, 700, 2_400].enumerated().map { index, size in
            var frames = TestFrames(.vp8, seed: UInt64(index))
            frames.frameSize = size
            frames.keyFrameSize = size * 2
            frames.timestampInterval = 3_600
            return frames
        }
    }

    /// Sends frames of each layer every 40 ms.
    mutating func send(_ count: Int, from publisher: CallPeer, by network: VirtualNetwork) {
        for _ in 0..<count {
            for event in publisher.events.dropFirst(eventsSeen) {
                switch event {
                case .layerPaused(let layer): isPaused[layer] = true
                case .layerResumed(let layer):
                    isPaused[layer] = false
                    wantsKeyFrame[layer] = true
                case .layerNeedsKeyFrame(let layer): wantsKeyFrame[layer] = true
                default: break
                }
            }
            eventsSeen = publisher.events.count
            let captured = VirtualNetwork.clock.wallTime(at: network.now)
            for layer in 0..<3 {
                let frame = layers[layer].next(isKeyFrame: wantsKeyFrame[layer], captureTime: captured)
                guard !isPaused[layer] else { continue }
                wantsKeyFrame[layer] = false
                made[layer] += 1
                network.send(frame, layer: layer, from: publisher)
            }
            network.run(for: .milliseconds(40))
        }
    }
}

import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Lower layers that a process makes of a stream with one layer, for viewers whose links need them.
@Suite("Renditions")
struct RenditionTests {
    private static let peer = PeerID(1 << 40)

    /// A publisher of 720p with 2.5 Mbit/s and rare key frames, and a worker that makes what viewers want.
    private final class Scene {
        let network: VirtualNetwork
        /// The renditions that viewers want according to the last event, as bits.
        private(set) var wanted: UInt8 = 0
        /// All values of `wanted`.
        private(set) var wantedChanges: [UInt8] = []
        /// The number of frames of the source that were read.
        private(set) var unitCount = 0
        private var frames: HarnessFrames
        private var videoCount = 0
        private var readEvents = 0
        private var keyFrames: UInt8 = 0
        private var isReading = false
        /// The frame that waits for the one after it, as in a decoder of B-frames.
        private var waiting: PublishedUnit?
        private let hasBFrames: Bool
        /// The frames of another codec than H.264; nil for H.264.
        private var others: TestFrames?

        init(
            shards: Int = 1, codec: Codec = .h264, hasRenditions: Bool = true, hasBFrames: Bool = false
        ) throws {
            self.hasBFrames = hasBFrames
            others = codec == .h264 ? nil : TestFrames(codec)
            network = VirtualNetwork(shards: shards)
            frames = HarnessFrames(at: network.now)
            var terms = PeerOptions()
            terms.hasRenditions = hasRenditions
            try network.sfu.publish(
                RenditionTests.peer, stream: VirtualNetwork.stream,
                ingesting: IngestMedia(video: codec, hasAudio: true), terms: terms, at: network.now)
            network.sfu.offerRenditions(true, of: RenditionTests.peer, at: network.now)
            network.settleRelay()
        }

        func run(for span: TimeSpan) {
            let end = network.now + span
            while network.now < end {
                let captured = VirtualNetwork.clock.wallTime(at: network.now)
                while var frame = frames.nextVideo(isKeyFrame: videoCount % 250 == 0, at: network.now) {
                    frame.captureTime = captured
                    if let other = others?.next(isKeyFrame: frame.isKeyFrame) {
                        (frame.codec, frame.bytes) = (other.codec, other.bytes)
                    }
                    if hasBFrames { frame.timestamp = Self.reordered(frame.timestamp, at: videoCount % 250) }
                    videoCount += 1
                    network.sfu.ingest(frame, from: RenditionTests.peer, at: network.now)
                }
                while var packet = frames.nextAudio(at: network.now) {
                    packet.captureTime = captured
                    network.sfu.ingest(packet, from: RenditionTests.peer, at: network.now)
                }
                work()
                network.settleRelay()
                network.run(for: .milliseconds(10))
            }
        }

        /// Returns the timestamp of a frame by its number since the key frame: each second one is shown before the one
        /// that precedes it.
        private static func reordered(_ time: MediaTime, at number: Int) -> MediaTime {
            guard number > 0, number < 249 else { return time }
            return MediaTime(ticks: time.ticks + (number % 2 == 1 ? 3_000 : -3_000), rate: time.rate)
        }

        /// Does what the platform and its worker do.
        private func work() {
            for event in network.events[readEvents...] {
                switch event {
                case .renditionsWanted(RenditionTests.peer, let layers):
                    keyFrames |= layers & ~wanted
                    wanted = layers
                    wantedChanges.append(layers)
                case .renditionKeyFramesWanted(RenditionTests.peer, let layers): keyFrames |= layers
                default: break
                }
            }
            readEvents = network.events.count
            if wanted != 0, !isReading {
                network.sfu.beginReadingForRenditions(VirtualNetwork.stream, at: network.now)
                isReading = true
            } else if wanted == 0, isReading {
                network.sfu.endReadingForRenditions(VirtualNetwork.stream, at: network.now)
                isReading = false
                waiting = nil
            }
            var units: [PublishedUnit] = []
            network.sfu.readUnits(at: network.now) { units.append($0) }
            unitCount += units.count
            // A worker encodes the newest frames only.
            for unit in units.filter({ $0.use == .renditions }).suffix(4) {
                guard let former = waiting else {
                    waiting = unit
                    continue
                }
                waiting = former.timestamp > unit.timestamp ? former : unit
                encode(former.timestamp > unit.timestamp ? unit : former)
            }
        }

        private func encode(_ unit: PublishedUnit) {
            for (index, rendition) in Rendition.all.enumerated() where wanted & 1 << UInt8(index + 1) != 0 {
                let layer = UInt8(index + 1)
                let isKeyFrame = keyFrames & 1 << layer != 0
                keyFrames &= ~(1 << layer)
                let rate = rendition.bitrate(of: Dimensions(width: 1280, height: 720))
                let size = Int(rate.bitsPerSecond) / 30 / 8
                let frame = EncodedFrame(
                    codec: .h264, bytes: RenditionTests.bytes(layer: layer, isKeyFrame: isKeyFrame, size: size),
                    isKeyFrame: isKeyFrame, timestamp: MediaTime(ticks: unit.timestamp, rate: .video),
                    captureTime: unit.captureTime)
                network.sfu.ingestRendition(
                    frame, layer: Int(layer), of: RenditionTests.peer, at: network.now)
            }
        }

        /// Returns the layers of a viewer's stream, best first.
        func layers(of viewer: CallPeer) -> [ViewedLayers.Layer] {
            let viewed = network.sfu.layers(viewedBy: viewer.id)
            return viewed?.layers ?? []
        }

        func view(
            rate: Bitrate?, beside: Bool = false, terms: PeerOptions = PeerOptions()
        ) throws -> CallPeer {
            network.link.both { $0 = LinkConditions(delay: .milliseconds(20)) }
            if let rate {
                network.link.down = LinkConditions(
                    delay: .milliseconds(20), rate: rate, queue: .span(.milliseconds(300)))
            }
            let viewer = try beside ? network.viewBeside(terms: terms) : network.view(terms: terms)
            #expect(network.run { viewer.isConnected })
            return viewer
        }
    }

    private static func bytes(layer: UInt8, isKeyFrame: Bool, size: Int) -> [UInt8] {
        let start: [UInt8] = [0, 0, 0, 1]
        let sets: [UInt8] = [
            0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
            0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
        ]
        let picture: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
        let head = isKeyFrame ? start + sets + start + picture + start + [0x65, 0x88] : start + [0x41, 0x9A]
        return head + [UInt8](repeating: 0x40 | layer, count: max(size, 16))
    }

    /// Returns the layer of a received frame; 0 for the publisher's.
    private static func layer(of frame: EncodedFrame) -> Int {
        let tail = Set(frame.bytes.suffix(16))
        guard tail.count == 1, let byte = tail.first, byte & 0xF0 == 0x40 else { return 0 }
        return Int(byte & 0x0F)
    }

    /// Whether timestamps advance, and frames of each capture time have the same timestamp in all layers.
    private static func isOnOneClock(_ viewer: CallPeer) -> Bool {
        let video = viewer.video.map(\.frame)
        guard let first = video.first else { return false }
        return zip(video, video.dropFirst()).allSatisfy { earlier, later in
            let step = later.timestamp.ticks - earlier.timestamp.ticks
            // One tick keeps the order of a key frame that repeats a frame of another layer.
            let passed = (later.timestamp.ticks - first.timestamp.ticks) % 3_000
            return step > 0 && (passed <= 2 || passed >= 2_998)
        }
    }

    /// Whether a viewer received the publisher's frames without a gap.
    private static func isWhole(_ viewer: CallPeer) -> Bool {
        let video = viewer.video.map(\.frame)
        return video.count > 100 && video.allSatisfy { layer(of: $0) == 0 }
            && zip(video, video.dropFirst()).allSatisfy { $1.timestamp.ticks - $0.timestamp.ticks == 3_000 }
    }

    @Test(
        "only the viewer on a narrow link receives a rendition, which ends with it", arguments: [1_000, 400] as [Int64])
    func narrowLink(kilobits: Int64) throws {
        let scene = try Scene()
        let wide = try scene.view(rate: nil)
        scene.run(for: .seconds(3))
        #expect(scene.wantedChanges.isEmpty, "no viewer begins with a rendition")
        let narrow = try scene.view(rate: .kilobits(kilobits))
        scene.run(for: .seconds(20))
        let count = narrow.video.count
        scene.run(for: .seconds(10))
        let late = narrow.video.dropFirst(count).map { Self.layer(of: $0.frame) }
        #expect(late.count >= 290, "\(late.count) frames")
        #expect(late.allSatisfy { $0 > 0 }, "\(Set(late))")
        #expect(Self.isOnOneClock(narrow))
        #expect(Self.isWhole(wide))
        #expect(scene.wanted.nonzeroBitCount == 1)
        scene.network.sfu.end(narrow.id, reason: .ended, at: scene.network.now)
        scene.run(for: .seconds(1))
        #expect(scene.wanted == 0)
    }

    @Test("a viewer whose link recovers returns to the publisher's layer at its next key frame")
    func recovers() throws {
        let scene = try Scene()
        let viewer = try scene.view(rate: .kilobits(700))
        scene.run(for: .seconds(15))
        #expect(viewer.video.last.map { Self.layer(of: $0.frame) } ?? 0 > 0)
        viewer.link.both { $0 = LinkConditions(delay: .milliseconds(20)) }
        scene.run(for: .seconds(40))
        #expect(viewer.video.last.map { Self.layer(of: $0.frame) } == 0)
        #expect(scene.wanted == 0)
        #expect(Self.isOnOneClock(viewer))
    }

    @Test("a viewer on another shard receives a rendition, too")
    func replica() throws {
        let scene = try Scene(shards: 2)
        _ = try scene.view(rate: nil)
        scene.run(for: .seconds(2))
        let narrow = try scene.view(rate: .kilobits(700), beside: true)
        scene.run(for: .seconds(20))
        let count = narrow.video.count
        scene.run(for: .seconds(5))
        let late = narrow.video.dropFirst(count).map { Self.layer(of: $0.frame) }
        #expect(late.count >= 140)
        #expect(late.allSatisfy { $0 > 0 }, "\(Set(late))")
    }

    @Test("a viewer who joins between rare key frames receives a rendition until the next one")
    func bridge() throws {
        let scene = try Scene()
        scene.run(for: .seconds(4))
        let viewer = try scene.view(rate: nil)
        let joined = scene.network.now
        scene.run(for: .milliseconds(200))
        let first = try #require(viewer.video.first)
        #expect(Self.layer(of: first.frame) == Rendition.transcodedLayer)
        #expect(first.frame.isKeyFrame && first.arrival - joined < .milliseconds(150))
        scene.run(for: .seconds(8))
        let layers = viewer.video.map { Self.layer(of: $0.frame) }
        #expect(Set(layers) == [0, 1] && layers == layers.sorted(by: >), "it changes once")
        #expect(Self.isOnOneClock(viewer))
        #expect(scene.wanted == 0)
        #expect(scene.unitCount > 250, "the source is read from its key frame on")
    }

    @Test("viewers of a source with B-frames receive a rendition in the order of presentation")
    func reordered() throws {
        let scene = try Scene(hasBFrames: true)
        let early = try scene.view(rate: nil)
        scene.run(for: .seconds(3))
        let late = try scene.view(rate: nil)
        scene.run(for: .seconds(3))
        #expect(late.video.count > 80 && late.video.allSatisfy { Self.layer(of: $0.frame) == 1 })
        let count = early.video.count
        scene.run(for: .seconds(20))
        #expect(early.video.dropFirst(count).allSatisfy { Self.layer(of: $0.frame) == 1 })
        #expect(scene.wanted == 1 << UInt8(Rendition.transcodedLayer))
    }

    @Test("B-frames are found by timestamps that go back, and neither by lost packets nor by a jump of the clock")
    func frameOrder() {
        let start = Instant(nanoseconds: 0)
        var order = FrameOrder()
        for number in 0..<10 as Range<UInt32> {
            order.observe(sequence: Int64(number), timestamp: number * 3_000, at: start)
        }
        order.observe(sequence: 3, timestamp: 9_000, at: start)
        #expect(!order.isReordered(at: start), "a retransmission")
        order.observe(sequence: 10, timestamp: UInt32(truncatingIfNeeded: -900_000), at: start)
        #expect(!order.isReordered(at: start), "a jump")
        order.observe(sequence: 11, timestamp: UInt32(truncatingIfNeeded: -906_000), at: start)
        #expect(order.isReordered(at: start))
        #expect(order.isReordered(at: start + FrameOrder.memory) == false)
    }

    @Test("viewers whose renditions are withdrawn are served as without them, and again when they are offered")
    func withdrawn() throws {
        let scene = try Scene()
        let narrow = try scene.view(rate: .kilobits(400))
        scene.run(for: .seconds(15))
        #expect(scene.wanted != 0)
        scene.network.sfu.offerRenditions(false, of: Self.peer, at: scene.network.now)
        scene.run(for: .seconds(15))
        #expect(scene.wanted == 0)
        #expect(scene.layers(of: narrow).count == 1)
        let count = narrow.video.count
        scene.network.sfu.offerRenditions(true, of: Self.peer, at: scene.network.now)
        scene.run(for: .seconds(20))
        #expect(scene.wanted != 0)
        #expect(narrow.video.dropFirst(count + 1).contains { Self.layer(of: $0.frame) > 0 })
    }

    @Test("a stream without renditions has one layer, and its packaging wants none")
    func without() throws {
        let scene = try Scene(hasRenditions: false)
        let viewer = try scene.view(rate: nil)
        scene.run(for: .seconds(3))
        #expect(scene.layers(of: viewer).count == 1)
        let other = try Scene()
        let codecs = other.network.sfu.beginReading(VirtualNetwork.stream, at: other.network.now)
        #expect(codecs == [0: .h264, nil: .opus])
        other.run(for: .seconds(2))
        #expect(other.wantedChanges.isEmpty)
    }

    // MARK: Another codec

    /// The options of a viewer that accepts H.264 only.
    private static let h264Only = PeerOptions(preferring: [.h264], insistsOnCodecs: true)

    @Test(
        "viewers who do not accept the publisher's codec receive its rendition in H.264, on every shard",
        arguments: [Codec.h265, .vp9, .av1], [false, true])
    func otherCodec(codec: Codec, beside: Bool) throws {
        let scene = try Scene(shards: beside ? 2 : 1, codec: codec)
        let own = try scene.view(rate: nil)
        scene.run(for: .seconds(2))
        #expect(own.video.count > 30 && own.video.allSatisfy { $0.frame.codec == codec })
        #expect(scene.wantedChanges.isEmpty, "no process is needed")
        let viewer = try scene.view(rate: nil, beside: beside, terms: Self.h264Only)
        scene.run(for: .seconds(4))
        #expect(scene.wanted == 1 << UInt8(Rendition.transcodedLayer))
        #expect(viewer.video.count > 60)
        #expect(
            viewer.video.allSatisfy {
                $0.frame.codec == .h264 && Self.layer(of: $0.frame) == Rendition.transcodedLayer
            })
        #expect(own.video.allSatisfy { $0.frame.codec == codec })
        if beside {
            scene.network.peerShard?.end(viewer.id, reason: .ended, at: scene.network.now)
        } else {
            scene.network.sfu.end(viewer.id, reason: .ended, at: scene.network.now)
        }
        scene.run(for: .seconds(1))
        #expect(scene.wanted == 0)
    }

    @Test("the offer of a viewer decides whether it receives the publisher's codec or H.264")
    func offeredCodec() throws {
        let scene = try Scene(codec: .h265)
        scene.run(for: .seconds(1))
        let h264 = try scene.network.scriptViewer(codecs: [.h264])
        let h265 = try scene.network.scriptViewer(codecs: [.h264, .h265])
        #expect(h264.media(.video).codec == .h264)
        #expect(h265.media(.video).codec == .h265)
    }

    @Test("a viewer without the publisher's codec is rejected with that codec, while no renditions can be made")
    func noOtherCodec() throws {
        let scene = try Scene(codec: .h265)
        scene.network.sfu.offerRenditions(false, of: Self.peer, at: scene.network.now)
        scene.run(for: .seconds(1))
        var reason: SectionProblem.Reason?
        do {
            _ = try scene.network.scriptViewer(codecs: [.h264])
        } catch let error as SFUError {
            if case .unacceptable(let problems) = error { reason = problems.first?.reason }
        }
        guard case .codec(_, let usable) = reason else {
            Issue.record("the viewer was admitted, or rejected for another reason")
            return
        }
        #expect(usable == ["H265"])
    }

    @Test("the layers of a viewer's stream include the renditions that save bandwidth")
    func ladder() throws {
        let scene = try Scene()
        let viewer = try scene.view(rate: nil)
        scene.run(for: .seconds(3))
        let layers = scene.layers(of: viewer)
        #expect(layers.map(\.name) == ["0", "hd", "sd", "ld", "vld", "vvld", "uld"])
        #expect(layers.dropFirst(3).first?.dimensions == Dimensions(width: 640, height: 360))
        try scene.network.sfu.pin(viewer.id, layer: "vld", at: scene.network.now)
        scene.run(for: .seconds(2))
        #expect(viewer.video.last.map { Self.layer(of: $0.frame) } == 5)
    }

    @Test("a new viewer begins with a layer of the publisher, if there is one")
    func start() {
        func rung(_ layer: Int, _ kilobits: Int64, isOnDemand: Bool) -> LayerLadder.Rung {
            LayerLadder.Rung(
                layer: layer, bitrate: .kilobits(kilobits), dimensions: nil, isAvailable: true, isOnDemand: isOnDemand)
        }
        let one = LayerLadder([rung(0, 2_500, isOnDemand: false), rung(1, 800, isOnDemand: true)])
        #expect(one.rungs[one.start].layer == 0)
        #expect(one.rungs[one.lowest].layer == 1)
        let none = LayerLadder([rung(1, 800, isOnDemand: true), rung(2, 300, isOnDemand: true)])
        #expect(none.rungs[none.start].layer == 1)
    }
}

import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Streams whose publishers change while their viewers stay.
@Suite("Spliced streams")
struct SpliceTests {
    static let name = PeerID(1 << 40)
    static let interval = TimeSpan.milliseconds(20)

    /// An encoder that publishes a stream in the process of the SFU, with a packet of audio for each frame.
    struct Encoder {
        let stream: StreamID
        let peer: PeerID
        private var layers: [TestFrames]
        private var audio: TestFrames
        private(set) var video: [EncodedFrame] = []
        private(set) var packets: [EncodedFrame] = []
        /// The delay from capture to the SFU.
        var delay = TimeSpan.milliseconds(100)

        /// Whether the encoder publishes at the second shard.
        private let isBeside: Bool

        init(
            _ number: UInt64, _ codec: Codec = .h264, layers: Int = 1, keyFrameInterval: Int = 50,
            isBeside: Bool = false, in network: VirtualNetwork
        ) throws {
            self.isBeside = isBeside
            stream = StreamID("source-\(number)")
            peer = PeerID(1 << 41 + number)
            self.layers = (0..<layers).map { layer in
                var frames = TestFrames(codec, seed: number * 10 + UInt64(layer), keyFrameInterval: keyFrameInterval)
                frames.timestampInterval = codec.clockRate.ticks(in: SpliceTests.interval)
                frames.firstTicks = Int64(number) * 1_000_000_007
                frames.frameSize = 400 << layer
                return frames
            }
            audio = TestFrames(.opus, seed: number)
            audio.firstTicks = Int64(number) * 1_000_000_009
            let media = IngestMedia(video: codec, layers: layers, hasAudio: true)
            guard isBeside else {
                try network.sfu.publish(peer, stream: stream, ingesting: media, at: network.now)
                network.sfu.watch(stream, at: network.now)
                return
            }
            try network.peerShard?.publish(peer, stream: stream, ingesting: media, at: network.now)
            let snapshot = try network.peerShard?.replicate(stream, to: 0, at: network.now)
            network.sfu.enterReplica(try #require(snapshot), of: 1, at: network.now)
            let watched = network.sfu.watch(stream, at: network.now)
            #expect(watched == peer)
            network.settleRelay()
        }

        mutating func send(by network: VirtualNetwork, hasAudio: Bool = true) {
            let captured = VirtualNetwork.clock.wallTime(at: network.now) - delay
            if hasAudio {
                packets.append(audio.next(captureTime: captured))
                ingest(packets[packets.count - 1], by: network)
            }
            for layer in layers.indices {
                let frame = layers[layer].next(captureTime: captured)
                video.append(frame)
                ingest(frame, layer: layer, by: network)
            }
        }

        private func ingest(_ frame: EncodedFrame, layer: Int = 0, by network: VirtualNetwork) {
            if isBeside {
                network.peerShard?.ingest(frame, layer: layer, from: peer, at: network.now)
            } else {
                network.sfu.ingest(frame, layer: layer, from: peer, at: network.now)
            }
        }

        mutating func send(_ count: Int, by network: VirtualNetwork, hasAudio: Bool = true) {
            for _ in 0..<count {
                send(by: network, hasAudio: hasAudio)
                network.settleRelay()
                network.run(for: SpliceTests.interval)
            }
        }

        func end(_ network: VirtualNetwork) {
            if isBeside {
                network.peerShard?.end(peer, reason: .ended, at: network.now)
            } else {
                network.sfu.end(peer, reason: .ended, at: network.now)
            }
            network.settleRelay()
        }
    }

    /// Returns a network with a stream without publisher.
    private func network(
        _ codec: Codec = .h264, layers: Int = 1, shards: Int = 1
    ) throws -> VirtualNetwork {
        let network = VirtualNetwork(shards: shards)
        var media = IngestMedia(video: codec, layers: layers, hasAudio: true)
        media.answersKeyFrameRequests = true
        try network.sfu.publish(Self.name, stream: VirtualNetwork.stream, ingesting: media, at: network.now)
        network.settleRelay()
        return network
    }

    private func splice(_ encoder: Encoder, in network: VirtualNetwork) throws {
        try network.sfu.splice(encoder.stream, into: VirtualNetwork.stream, at: network.now)
        network.settleRelay()
    }

    private func rises(_ frames: [EncodedFrame]) -> Bool {
        zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp.ticks < $1.timestamp.ticks }
    }

    private func isPresent(_ viewer: CallPeer, in network: VirtualNetwork) -> Bool {
        network.endedReason(of: viewer.id) == nil
    }

    @Test(
        "viewers keep their session when the publisher leaves and another one begins",
        arguments: [.h264, .vp8] as [Codec])
    func replacement(codec: Codec) throws {
        let network = try network(codec)
        var first = try Encoder(1, codec, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(200, by: network)
        first.end(network)
        network.run(for: .seconds(3))
        var second = try Encoder(2, codec, in: network)
        try splice(second, in: network)
        second.send(200, by: network)
        network.run(for: .seconds(1))
        let sent = first.video.map(\.bytes) + second.video.map(\.bytes)
        #expect(viewer.video.map(\.frame.bytes) == sent)
        #expect(viewer.audio.suffix(150).map(\.bytes) == second.packets.suffix(150).map(\.bytes))
        #expect(rises(viewer.video.map(\.frame)))
        #expect(rises(viewer.audio))
        // The timestamps advance by the time without a publisher.
        let boundary = first.video.count
        let step = viewer.video[boundary].frame.timestamp.ticks - viewer.video[boundary - 1].frame.timestamp.ticks
        #expect((Int64(3 * 90_000)...(3 * 90_000 + 9_000)).contains(step), "\(step)")
        #expect(isPresent(viewer, in: network))
    }

    @Test("a publisher that stands by continues at once with the frames since its last key frame")
    func standby() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        var second = try Encoder(2, keyFrameInterval: 100, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        for _ in 0..<160 {
            first.send(by: network)
            second.send(1, by: network)
        }
        try splice(second, in: network)
        let switched = network.now
        second.send(100, by: network)
        network.run(for: .seconds(1))
        let received = viewer.video.map(\.frame.bytes)
        let formerFrames = Set(first.video.map(\.bytes))
        // The last key frame was the hundredth, 60 frames before.
        let start = try #require(received.firstIndex { !formerFrames.contains($0) })
        #expect(received[start] == second.video[100].bytes)
        #expect(Array(received.suffix(160)) == second.video.suffix(160).map(\.bytes))
        #expect(rises(viewer.video.map(\.frame)))
        // The frames up to the live edge arrive and are due within a short time.
        let live = try #require(viewer.video.firstIndex { $0.frame.bytes == second.video[160].bytes })
        #expect(viewer.videoTimes[live] - switched < .milliseconds(300))
        let ticks = viewer.video[live].frame.timestamp.ticks - viewer.video[start].frame.timestamp.ticks
        #expect(ticks < 90_000 * 3 / 10, "\(ticks)")
        // Afterwards, time passes as it does for the publisher.
        let last = viewer.video[viewer.video.count - 1].frame.timestamp.ticks
        #expect(last - viewer.video[live].frame.timestamp.ticks == 99 * 1_800)
    }

    @Test("the former publisher is forwarded until the next one has a key frame")
    func keyFrame() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(100, by: network)
        let second = try Encoder(2, in: network)
        try splice(second, in: network)
        first.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.video.map(\.frame.bytes) == first.video.map(\.bytes))
    }

    @Test("audio and video stay in step with the next publisher")
    func captureTimes() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(150, by: network)
        first.end(network)
        network.run(for: .milliseconds(700))
        var second = try Encoder(2, in: network)
        second.delay = .milliseconds(180)
        try splice(second, in: network)
        second.send(200, by: network)
        network.run(for: .seconds(1))
        let sent = Dictionary(
            uniqueKeysWithValues: (second.video + second.packets).map { ($0.bytes, $0.captureTime) })
        for frame in viewer.video.suffix(100).map(\.frame) + viewer.audio.suffix(100) {
            let expected = try #require(sent[frame.bytes] ?? nil)
            let received = try #require(frame.captureTime)
            #expect((received - expected).magnitude < .milliseconds(5), "\(frame.codec): \(received - expected)")
        }
    }

    @Test("viewers on another shard stay, too")
    func replica() throws {
        let network = try network(shards: 2)
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        first.send(10, by: network)
        let beside = try network.viewBeside()
        #expect(network.run { beside.isConnected })
        first.send(100, by: network)
        first.end(network)
        network.run(for: .seconds(1))
        var second = try Encoder(2, in: network)
        try splice(second, in: network)
        second.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(Array(beside.video.map(\.frame.bytes).suffix(100)) == second.video.map(\.bytes))
        #expect(rises(beside.video.map(\.frame)))
        #expect(isPresent(beside, in: network))
    }

    @Test("a publisher on another shard is forwarded from its replica, until one of this shard replaces it")
    func otherShard() throws {
        let network = try network(shards: 2)
        var first = try Encoder(1, isBeside: true, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.video.map(\.frame.bytes) == first.video.map(\.bytes))
        #expect(viewer.audio.suffix(90).map(\.bytes) == first.packets.suffix(90).map(\.bytes))
        let sent = Dictionary(uniqueKeysWithValues: first.video.map { ($0.bytes, $0.captureTime) })
        for frame in viewer.video.suffix(20).map(\.frame) {
            let expected = try #require(sent[frame.bytes] ?? nil)
            let received = try #require(frame.captureTime)
            #expect((received - expected).magnitude < .milliseconds(5), "\(received - expected)")
        }
        first.end(network)
        network.run(for: .seconds(1))
        var second = try Encoder(2, in: network)
        try splice(second, in: network)
        second.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.video.map(\.frame.bytes) == (first.video + second.video).map(\.bytes))
        #expect(rises(viewer.video.map(\.frame)))
        #expect(isPresent(viewer, in: network))
    }

    @Test("a publisher that is not forwarded for a while continues with a key frame and the next number")
    func unsplicing() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(110, by: network)
        network.run(for: .seconds(1))
        network.sfu.unsplice(VirtualNetwork.stream)
        first.send(100, by: network)
        #expect(viewer.video.map(\.frame.bytes) == first.video.prefix(110).map(\.bytes))
        let audioCount = viewer.audio.count
        try splice(first, in: network)
        first.send(100, by: network)
        network.run(for: .seconds(1))
        // The last key frame before it was the two hundredth.
        #expect(viewer.video.map(\.frame.bytes) == (first.video.prefix(110) + first.video[200...]).map(\.bytes))
        #expect(viewer.audio.count > audioCount + 90)
        #expect(rises(viewer.video.map(\.frame)))
        #expect(isPresent(viewer, in: network))
    }

    @Test("the audio of a publisher that begins after its video continues the numbers of the former one")
    func laterAudio() throws {
        let network = try network()
        let target = try #require(network.sfu.streamIndices[VirtualNetwork.stream])
        func audioCount() -> Int { network.sfu.forwarder.streams[target].receiver.audio?.packetsReceived ?? 0 }
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        first.send(20, by: network)
        first.end(network)
        let before = audioCount()
        #expect(before > 10)
        var second = try Encoder(2, in: network)
        try splice(second, in: network)
        second.send(5, by: network, hasAudio: false)
        #expect(audioCount() == before)
        second.send(20, by: network)
        #expect(audioCount() == before + second.packets.count)
    }

    @Test("a publisher pauses what nobody views when it is not watched any more, and a later one is not affected")
    func unwatching() throws {
        let network = try network()
        let encoder = try Encoder(1, in: network)
        let index = try #require(network.sfu.streamIndices[encoder.stream])
        func subscribers() -> [Int] {
            [
                network.sfu.forwarder.streams[index].layers[0].subscribers,
                network.sfu.forwarder.streams[index].audio.subscribers,
            ]
        }
        #expect(subscribers() == [1, 1])
        network.sfu.unwatch(encoder.stream, of: PeerID(7), at: network.now)
        #expect(subscribers() == [1, 1])
        for _ in 0..<2 {
            network.sfu.unwatch(encoder.stream, of: encoder.peer, at: network.now)
            #expect(subscribers() == [0, 0])
        }
    }

    @Test("a viewer who joins while there is no publisher receives the last key frame")
    func absentPublisher() throws {
        let network = try network()
        var first = try Encoder(1, keyFrameInterval: 40, in: network)
        try splice(first, in: network)
        first.send(100, by: network)
        first.end(network)
        network.run(for: .seconds(1))
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        network.run(for: .seconds(5))
        #expect(viewer.video.first?.frame.bytes == first.video[80].bytes)
    }

    @Test("a request of a viewer reaches the publisher of the time")
    func requests() throws {
        let network = try network()
        let stream = StreamID("source-1")
        let publisher = try network.publish(stream: stream)
        #expect(network.run { publisher.isConnected })
        network.sfu.watch(stream, at: network.now)
        var broadcast = Broadcast(.h264)
        broadcast.send(10, from: publisher, by: network)
        try network.sfu.splice(stream, into: VirtualNetwork.stream, at: network.now)
        broadcast.send(100, from: publisher, by: network)
        let before = publisher.keyFrameRequests
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        broadcast.send(100, from: publisher, by: network)
        #expect(publisher.keyFrameRequests > before)
        network.run(for: .seconds(1))
        #expect(viewer.video.last?.frame.bytes == broadcast.sent.last?.bytes)
    }

    @Test("of a publisher with a codec that the stream was not published with, audio is forwarded")
    func otherCodec() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(100, by: network)
        first.end(network)
        var second = try Encoder(2, .vp8, in: network)
        try splice(second, in: network)
        second.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.video.map(\.frame.bytes) == first.video.map(\.bytes))
        #expect(viewer.audio.last?.bytes == second.packets.last?.bytes)
        #expect(isPresent(viewer, in: network))
    }

    @Test("a publisher with one layer fills all layers of the stream")
    func layers() throws {
        let network = try network(layers: 2)
        var first = try Encoder(1, layers: 2, keyFrameInterval: 25, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(300, by: network)
        first.end(network)
        var second = try Encoder(2, in: network)
        try splice(second, in: network)
        second.send(200, by: network)
        network.run(for: .seconds(1))
        let secondFrames = Set(second.video.map(\.bytes))
        let received = viewer.video.map(\.frame.bytes)
        #expect(received.last == second.video.last?.bytes)
        #expect(received.count(where: { secondFrames.contains($0) }) >= 150)
        #expect(rises(viewer.video.map(\.frame)))
    }

    @Test("a packager reads the frames of successive publishers as those of one track")
    func units() throws {
        let network = try network()
        #expect(network.sfu.beginReading(VirtualNetwork.stream, at: network.now).count == 2)
        var units: [PublishedUnit] = []
        func send(_ encoder: inout Encoder) {
            for _ in 0..<100 {
                encoder.send(1, by: network)
                network.sfu.readUnits(at: network.now) { units.append($0) }
            }
        }
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        send(&first)
        first.end(network)
        network.run(for: .seconds(2))
        var second = try Encoder(2, in: network)
        try splice(second, in: network)
        send(&second)
        let video = units.filter { $0.layer != nil }
        #expect(video.map(\.bytes) == (first.video + second.video).map(\.bytes))
        #expect(zip(video, video.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(zip(video, video.dropFirst()).allSatisfy { $0.captureTime < $1.captureTime })
    }

    @Test("a stream that has frames of its own is not spliced, and an unknown one is not forwarded")
    func unknownStreams() throws {
        let network = try network()
        let encoder = try Encoder(1, in: network)
        #expect(throws: SFUError.unknownStream(StreamID("x"))) {
            try network.sfu.splice(StreamID("x"), into: VirtualNetwork.stream, at: network.now)
        }
        #expect(throws: SFUError.unknownStream(StreamID("x"))) {
            try network.sfu.splice(encoder.stream, into: StreamID("x"), at: network.now)
        }
        #expect(throws: SFUError.unknownStream(encoder.stream)) {
            try network.sfu.splice(encoder.stream, into: encoder.stream, at: network.now)
        }
    }

    @Test("the end of the stream ends its viewers, and publishers remain")
    func end() throws {
        let network = try network()
        var first = try Encoder(1, in: network)
        try splice(first, in: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        first.send(10, by: network)
        network.sfu.end(Self.name, reason: .ended, at: network.now)
        network.settleRelay()
        first.send(10, by: network)
        #expect(network.endedReason(of: viewer.id) == .ended)
        #expect(network.endedReason(of: first.peer) == nil)
        #expect(network.sfu.arrivals(of: [first.stream])[first.stream]?.isDecodable == true)
    }

    // MARK: Dependency descriptors

    /// The packets of a publisher of AV1, each of which is a frame with a dependency descriptor.
    private struct DescribedPackets: ~Copyable {
        var log = PacketLog(capacity: 64)
        private var reader = LayerReader()
        private var sequence: Int64
        private var frame: UInt16

        /// The extended fields of a key frame: a structure with one decode target, a template of key frames, and one of
        /// frames that refer to the frame before.
        private static let structure: [UInt8] = [0x80, 0x00, 0x3A, 0x40, 0x00]

        init(sequence: Int64, frame: UInt16) { (self.sequence, self.frame) = (sequence, frame) }

        mutating func append(isKeyFrame: Bool, hasDescriptor: Bool = true) {
            let fields = [isKeyFrame ? 0xC0 : 0xC1, UInt8(frame >> 8), UInt8(frame & 0xFF)]
            let descriptor = hasDescriptor ? fields + (isKeyFrame ? Self.structure : []) : []
            let payload: [UInt8] = [0x10, 0x30, UInt8(truncatingIfNeeded: sequence)]
            var entry = PacketLog.Entry(
                sequence: sequence, timestamp: UInt32(sequence) * 3_000, marker: true, startsKeyFrame: isKeyFrame,
                arrival: Instant(nanoseconds: sequence * 33_000_000))
            payload.withByteView { payload in
                descriptor.withByteView { descriptor in
                    entry.layers = reader.read(.av1, payload: payload, descriptor: descriptor, sequence: sequence)
                    _ = log.append(entry, payload: payload, descriptor: reader.logged, bytes: descriptor)
                }
            }
            sequence += 1
            frame &+= 1
        }
    }

    /// The descriptors of the packets that a track writes, as a receiver parses them; nil for a packet without one.
    private func descriptors(
        _ track: inout SplicedTrack, of source: borrowing DescribedPackets, _ map: RTPHeaderExtensionMap,
        _ structure: inout DependencyStructure?
    ) throws -> [DependencyDescriptor?] {
        let storage = ByteStorage(byteCount: SplicedTrack.bufferSize, alignment: 16)
        var found: [DependencyDescriptor?] = []
        while let size = track.next(source.log, into: storage.bytes) {
            let packet = ByteView(storage.bytes.extracting(0..<size))
            let parsed = RTPHeader.parse(packet.span)
            let header = try #require(parsed)
            let range = header.extensions.dependencyDescriptor(in: packet.span, by: map)
            let descriptor = range.flatMap {
                DependencyDescriptor(packet.extracting($0).span, structure: structure)
            }
            structure = descriptor?.structure ?? structure
            found.append(descriptor)
        }
        return found
    }

    @Test("the frame numbers of dependency descriptors continue, and the structure of the next publisher is sent")
    func frameNumbers() throws {
        var media = IngestMedia(video: .av1, hasAudio: false)
        media.answersKeyFrameRequests = true
        let section = try #require(media.sections.first)
        var generator = SystemRandomNumberGenerator()
        var track = SplicedTrack(section, rid: nil, ssrc: 7, using: &generator)
        var structure: DependencyStructure?

        var first = DescribedPackets(sequence: 100, frame: 65_534)
        for number in 0..<4 { first.append(isKeyFrame: number == 0) }
        track.begin(PeerID(1), layer: 0, first.log, codec: .av1, at: 0)
        let before = try descriptors(&track, of: first, section.extensionMap, &structure)
        #expect(before.map { $0?.frameNumber } == [65_534, 65_535, 0, 1])

        var second = DescribedPackets(sequence: 9_000, frame: 40_000)
        for number in 0..<3 { second.append(isKeyFrame: number == 0) }
        track.begin(PeerID(2), layer: 0, second.log, codec: .av1, at: 0)
        let after = try descriptors(&track, of: second, section.extensionMap, &structure)
        #expect(after.map { $0?.frameNumber } == [2, 3, 4])
        #expect(after.map { $0?.structure != nil } == [true, false, false])

        var third = DescribedPackets(sequence: 50, frame: 9)
        third.append(isKeyFrame: true, hasDescriptor: false)
        track.begin(PeerID(3), layer: 0, third.log, codec: .av1, at: 0)
        let last = try descriptors(&track, of: third, section.extensionMap, &structure)
        #expect(last.count == 1 && last[0] == nil)
    }

    // MARK: Timestamps

    @Test("timestamps pass as those of the publisher if its first frame is later than the last one")
    func laterTimeline() {
        let timeline = SplicedTrack.Timeline(
            from: 0xFFFF_FF00, edge: 0xFFFF_FF00 &+ 9_000, after: 5_000, passed: 3_000, step: 90)
        #expect(timeline.timestamp(of: 0xFFFF_FF00) == 8_000)
        #expect(timeline.timestamp(of: 0xFFFF_FF00 &+ 9_000) == 17_000)
        #expect(timeline.timestamp(of: 0xFFFF_FF00 &+ 90_000) == 98_000)
    }

    @Test("timestamps of earlier frames are compressed up to the live edge, which keeps its time")
    func earlierTimeline() {
        // The key frame arrived one second before the last frame, and the live edge is 100 ms after it.
        let timeline = SplicedTrack.Timeline(
            from: 1_000, edge: 100_000, after: 500_000, passed: -90_000, step: 90)
        #expect(timeline.timestamp(of: 1_000) == 500_090)
        let edge = timeline.timestamp(of: 100_000)
        #expect(edge == 500_090 + 99_000 / 8)
        #expect(timeline.timestamp(of: 103_000) == edge + 3_000)
        let steps = stride(from: UInt32(1_000), through: 100_000, by: 3_000).map { timeline.timestamp(of: $0) }
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 < $1 })
    }
}

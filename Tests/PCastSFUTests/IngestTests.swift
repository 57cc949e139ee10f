import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Publishers in the process of the SFU.
@Suite("Ingested streams")
struct IngestTests {
    private static let peer = PeerID(1 << 40)

    /// Sends frames, each with a packet of audio, every 20 ms.
    private struct Encoder {
        var layers: [TestFrames]
        var audio: TestFrames
        private(set) var video: [EncodedFrame] = []
        private(set) var packets: [EncodedFrame] = []

        init(_ codec: Codec, layers: Int = 1, keyFrameInterval: Int = 50) {
            self.layers = (0..<layers).map { layer in
                var frames = TestFrames(codec, seed: UInt64(layer + 1), keyFrameInterval: keyFrameInterval)
                frames.timestampInterval = codec.clockRate.ticks(in: .milliseconds(20))
                // Each layer has twice the bit rate of the one before.
                frames.frameSize = 400 << layer
                return frames
            }
            audio = TestFrames(.opus)
        }

        /// Sends frames of all layers, or of the layers from a number on.
        mutating func send(_ count: Int, fromLayer first: Int = 0, by network: VirtualNetwork) {
            for _ in 0..<count {
                let captured = VirtualNetwork.clock.wallTime(at: network.now) - .milliseconds(100)
                packets.append(audio.next(captureTime: captured))
                network.sfu.ingest(packets[packets.count - 1], from: IngestTests.peer, at: network.now)
                for layer in layers.indices.dropFirst(first) {
                    let frame = layers[layer].next(captureTime: captured)
                    if layer == 0 { video.append(frame) }
                    network.sfu.ingest(frame, layer: layer, from: IngestTests.peer, at: network.now)
                }
                network.settleRelay()
                network.run(for: .milliseconds(20))
            }
        }
    }

    private func network(
        _ media: IngestMedia = IngestMedia(video: .h264, hasAudio: true), shards: Int = 1,
        terms: PeerOptions = PeerOptions()
    ) throws -> VirtualNetwork {
        let network = VirtualNetwork(shards: shards)
        try network.sfu.publish(
            Self.peer, stream: VirtualNetwork.stream, ingesting: media, terms: terms, at: network.now)
        network.settleRelay()
        return network
    }

    private static let codecs: [Codec] = [.h264, .vp8, .vp9, .av1, .h265]

    @Test("viewers receive all frames of audio and video unchanged", arguments: codecs)
    func frames(codec: Codec) throws {
        let network = try network(IngestMedia(video: codec, hasAudio: true))
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var encoder = Encoder(codec)
        encoder.send(300, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.video.map(\.frame.bytes) == encoder.video.map(\.bytes))
        #expect(viewer.video.map(\.frame.isKeyFrame) == encoder.video.map(\.isKeyFrame))
        #expect(viewer.audio.map(\.bytes) == encoder.packets.map(\.bytes))
        #expect(network.time(of: .mediaStarted(Self.peer)) != nil)
        let ticks = viewer.video.map(\.frame.timestamp.ticks)
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1 - $0 == 1_800 })
    }

    @Test("capture times arrive, so that audio and video stay in step")
    func captureTimes() throws {
        let network = try network()
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var encoder = Encoder(.h264)
        encoder.send(200, by: network)
        network.run(for: .seconds(1))
        let sent = Dictionary(
            uniqueKeysWithValues: (encoder.video + encoder.packets).map { ($0.bytes, $0.captureTime) })
        // The first reports arrive after the first frames.
        for frame in viewer.video.map(\.frame).dropFirst(100) + viewer.audio.dropFirst(100) {
            let expected = try #require(sent[frame.bytes] ?? nil)
            let received = try #require(frame.captureTime)
            #expect((received - expected).magnitude < .milliseconds(5), "\(frame.codec): \(received - expected)")
        }
    }

    @Test("a viewer that joins later begins with a key frame, although none can be requested", arguments: codecs)
    func lateViewer(codec: Codec) throws {
        let network = try network(IngestMedia(video: codec, hasAudio: true))
        var encoder = Encoder(codec, keyFrameInterval: 100)
        encoder.send(260, by: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        encoder.send(200, by: network)
        let first = try #require(viewer.video.first?.frame)
        #expect(first.isKeyFrame)
        #expect(viewer.video.map(\.frame.bytes) == encoder.video.suffix(viewer.video.count).map(\.bytes))
    }

    private static func lastFrames(
        in network: VirtualNetwork, of stream: StreamID = VirtualNetwork.stream, maximumSize: Int = 1 << 20
    ) -> LastFrames? {
        network.sfu.lastFrames(of: stream, maximumSize: maximumSize)
    }

    @Test("the last frames are those since the newest key frame, or that one if they are too large")
    func lastFrames() throws {
        let network = try network()
        let none = try #require(Self.lastFrames(in: network))
        #expect(none.frames.isEmpty && none.codec == .h264)
        var encoder = Encoder(.h264, keyFrameInterval: 50)
        encoder.send(120, by: network)
        let newest = encoder.video.lastIndex { $0.isKeyFrame }
        let expected = encoder.video[(try #require(newest))...]
        let last = try #require(Self.lastFrames(in: network))
        #expect(last.frames.map(\.bytes) == expected.map(\.bytes))
        #expect(last.frames.map(\.isKeyFrame) == expected.map(\.isKeyFrame))
        let size = try #require(expected.first).bytes.count
        let alone = Self.lastFrames(in: network, maximumSize: size + 1)
        #expect(alone?.frames.map(\.bytes) == expected.prefix(1).map(\.bytes))
        #expect(Self.lastFrames(in: network, maximumSize: 1)?.frames.isEmpty == true)
        #expect(Self.lastFrames(in: network, of: StreamID("none")) == nil)
    }

    @Test("the last frames are not those of a layer that the publisher does not send any more")
    func lastFramesOfPausedLayer() throws {
        let network = try network(IngestMedia(video: .h264, layers: 2, hasAudio: true))
        var encoder = Encoder(.h264, layers: 2, keyFrameInterval: 50)
        encoder.send(20, by: network)
        #expect(Self.lastFrames(in: network)?.frames.map(\.bytes) == encoder.video.map(\.bytes))
        encoder.send(150, fromLayer: 1, by: network)
        // The layer that continues has sent a key frame every 50 frames, and 20 frames after the newest one.
        let last = try #require(Self.lastFrames(in: network))
        #expect(last.frames.count == 20 && last.frames.first?.isKeyFrame == true)
        #expect(last.frames.first?.bytes != encoder.video.first?.bytes)
    }

    @Test("a key frame is requested before the newest one is lost, and not earlier")
    func keptLastFrames() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish()
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var broadcast = Broadcast(.h264)
        broadcast.send(100, from: publisher, by: network)
        let before = publisher.keyFrameRequests
        network.sfu.keepLastFrames(of: VirtualNetwork.stream)
        network.settleRelay()
        broadcast.send(10, from: publisher, by: network)
        #expect(publisher.keyFrameRequests == before)
        // A frame has two packets, and the log has space for 2,048.
        broadcast.send(600, from: publisher, by: network)
        network.sfu.keepLastFrames(of: VirtualNetwork.stream)
        network.settleRelay()
        broadcast.send(50, from: publisher, by: network)
        #expect(publisher.keyFrameRequests == before + 1)
        let last = try #require(Self.lastFrames(in: network))
        #expect((1...50).contains(last.frames.count))
    }

    @Test("viewers on another shard receive the stream, too")
    func replica() throws {
        let network = try network(shards: 2)
        let here = try network.view()
        let beside = try network.viewBeside()
        #expect(network.run { here.isConnected && beside.isConnected })
        var encoder = Encoder(.h264)
        encoder.send(200, by: network)
        network.run(for: .seconds(1))
        for viewer in [here, beside] {
            #expect(viewer.video.map(\.frame.bytes) == encoder.video.map(\.bytes))
            #expect(viewer.audio.map(\.bytes) == encoder.packets.map(\.bytes))
        }
    }

    @Test("the tracks of an encoder are layers, and a viewer can choose one", arguments: codecs.dropFirst())
    func layers(codec: Codec) throws {
        let network = try network(IngestMedia(video: codec, layers: 3, hasAudio: true))
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var encoder = Encoder(codec, layers: 3, keyFrameInterval: 25)
        encoder.send(300, by: network)
        let viewed = network.sfu.layers(viewedBy: viewer.id)
        // The best one comes first.
        #expect(viewed?.layers.map(\.name) == ["2", "1", "0"])
        // The link is wide, so the viewer ends with the best layer.
        #expect(viewer.video.last?.frame.bytes.count ?? 0 > 1_600)
        try network.sfu.pin(viewer.id, layer: "0", at: network.now)
        encoder.send(100, by: network)
        let last = try #require(viewer.video.last?.frame)
        #expect(encoder.video.contains { $0.bytes == last.bytes })
    }

    @Test("a stream may have audio or video alone", arguments: [true, false])
    func oneKind(hasAudio: Bool) throws {
        let network = try network(IngestMedia(video: hasAudio ? nil : .h264, hasAudio: hasAudio))
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var encoder = Encoder(.h264)
        encoder.send(100, by: network)
        network.run(for: .seconds(1))
        #expect(viewer.audio.isEmpty != hasAudio)
        #expect(viewer.video.isEmpty == hasAudio)
    }

    @Test("the end of the publisher ends its viewers")
    func end() throws {
        let network = try network()
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var encoder = Encoder(.h264)
        encoder.send(50, by: network)
        network.sfu.end(Self.peer, reason: .ended, at: network.now)
        network.settleRelay()
        network.run(for: .seconds(1))
        #expect(network.endedReason(of: Self.peer) == .ended)
        #expect(network.endedReason(of: viewer.id) == .ended)
        #expect(network.sfu.peerCount == 0)
        #expect(network.sfu.ingestSources.isEmpty)
        let isForwarded = network.sfu.ingest(encoder.video[0], from: Self.peer, at: network.now)
        #expect(!isForwarded)
        // The name is free again.
        try network.sfu.publish(
            PeerID(7), stream: VirtualNetwork.stream, ingesting: IngestMedia(video: .h264, hasAudio: true),
            at: network.now)
    }

    @Test("a publisher that passes nothing fails after its limit, and not before")
    func abandonment() throws {
        let network = try network(terms: PeerOptions(abandonLimit: .seconds(10)))
        var encoder = Encoder(.h264)
        encoder.send(1_000, by: network)
        #expect(network.endedReason(of: Self.peer) == nil)
        network.run(for: .seconds(9))
        #expect(network.endedReason(of: Self.peer) == nil)
        network.run(for: .seconds(2))
        #expect(network.endedReason(of: Self.peer) == .failed)
    }

    @Test("frames that do not belong to the stream or cannot be sent are refused")
    func refused() throws {
        let network = try network()
        func frame(_ codec: Codec, _ bytes: [UInt8]) -> EncodedFrame {
            EncodedFrame(
                codec: codec, bytes: bytes, isKeyFrame: true, timestamp: MediaTime(ticks: 0, rate: codec.clockRate),
                captureTime: nil)
        }
        let refused: [(EncodedFrame, Int, PeerID)] = [
            (frame(.vp8, [1]), 0, Self.peer), (frame(.h264, []), 0, Self.peer),
            (frame(.h264, [0, 0, 0, 1, 0x65]), 1, Self.peer), (frame(.h264, [0, 0, 0, 1, 0x65]), -1, Self.peer),
            (frame(.opus, [UInt8](repeating: 0, count: 1_201)), 0, Self.peer),
            (frame(.opus, [0xFC]), 0, PeerID(9)),
        ]
        for (frame, layer, peer) in refused {
            let isForwarded = network.sfu.ingest(frame, layer: layer, from: peer, at: network.now)
            #expect(!isForwarded, "\(frame)")
        }
        let isForwarded = network.sfu.ingest(
            frame(.opus, [UInt8](repeating: 0xFC, count: 1_200)), from: Self.peer, at: network.now)
        #expect(isForwarded)
    }

    @Test("names and limits hold as for other publishers")
    func limits() throws {
        let network = try network()
        let media = IngestMedia(video: .h264, hasAudio: true)
        #expect(throws: SFUError.streamExists(VirtualNetwork.stream)) {
            try network.sfu.publish(PeerID(2), stream: VirtualNetwork.stream, ingesting: media, at: network.now)
        }
        #expect(throws: SFUError.noCommonCodec) {
            try network.sfu.publish(
                PeerID(2), stream: StreamID("other"), ingesting: IngestMedia(video: nil, hasAudio: true),
                terms: PeerOptions(media: [.video]), at: network.now)
        }
        #expect(throws: SFUError.noCommonCodec) {
            try network.sfu.publish(
                PeerID(2), stream: StreamID("other"), ingesting: media,
                terms: PeerOptions(preferring: [.vp8], insistsOnCodecs: true), at: network.now)
        }
        let full = VirtualNetwork(maximumPeers: 0)
        #expect(throws: SFUError.full) {
            try full.sfu.publish(PeerID(2), stream: StreamID("other"), ingesting: media, at: full.now)
        }
    }
}

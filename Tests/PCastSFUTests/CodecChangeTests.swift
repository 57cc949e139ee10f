import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Streams whose publishers change to another codec while their viewers stay.
@Suite("Changes of the codec")
struct CodecChangeTests {
    private typealias Encoder = SpliceTests.Encoder

    private static let h264Only = PeerOptions(preferring: [.h264], insistsOnCodecs: true)

    /// A stream whose publishers may send any codec.
    private final class Scene {
        let network: VirtualNetwork
        private var nextNumber: UInt64 = 1

        init(_ codec: Codec = .h264, layers: Int = 1, shards: Int = 1, hasRenditions: Bool = false) throws {
            network = VirtualNetwork(shards: shards)
            var media = IngestMedia(video: codec, layers: layers, hasAudio: true)
            media.answersKeyFrameRequests = true
            media.furtherVideo = IngestMedia.videoCodecs
            var terms = PeerOptions()
            terms.hasRenditions = hasRenditions
            try network.sfu.publish(
                SpliceTests.name, stream: VirtualNetwork.stream, ingesting: media, terms: terms, at: network.now)
            network.settleRelay()
        }

        /// Sends the frames of a publisher, which then leaves. Returns the frames.
        func publish(
            _ codec: Codec, layers: Int = 1, frames: Int = 150, into stream: StreamID = VirtualNetwork.stream,
            each: (VirtualNetwork) -> Void = { _ in }
        ) throws -> [EncodedFrame] {
            var encoder = try Encoder(nextNumber, codec, layers: layers, in: network)
            nextNumber += 1
            try network.sfu.splice(encoder.stream, into: stream, at: network.now)
            for _ in 0..<frames {
                encoder.send(1, by: network)
                each(network)
            }
            encoder.end(network)
            network.run(for: .seconds(1))
            return encoder.video
        }

        func view(beside: Bool = false, terms: PeerOptions = PeerOptions()) throws -> CallPeer {
            let viewer = try beside ? network.viewBeside(terms: terms) : network.view(terms: terms)
            #expect(network.run { viewer.isConnected })
            return viewer
        }

        func isPresent(_ viewer: CallPeer) -> Bool { network.endedReason(of: viewer.id) == nil }
    }

    private static func rises(_ frames: [EncodedFrame]) -> Bool {
        zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp.ticks < $1.timestamp.ticks }
    }

    @Test(
        "viewers receive each codec of successive publishers in one track, on every shard",
        arguments: [[.h264, .vp8, .h264], [.vp8, .h264, .vp8], [.h264, .av1, .vp9, .h265]] as [[Codec]], [false, true])
    func successive(codecs: [Codec], beside: Bool) throws {
        let scene = try Scene(codecs[0], shards: beside ? 2 : 1)
        let viewer = try scene.view(beside: beside)
        var sent: [EncodedFrame] = []
        for codec in codecs { sent += try scene.publish(codec) }
        let received = viewer.video.map(\.frame)
        #expect(received.map(\.bytes) == sent.map(\.bytes))
        #expect(received.map(\.codec) == sent.map(\.codec))
        #expect(Self.rises(received))
        #expect(Self.rises(viewer.audio))
        #expect(viewer.connection.receivingCodec(.video) == codecs.last)
        #expect(scene.isPresent(viewer))
        let changes = scene.network.events.compactMap { event -> Codec? in
            if case .videoCodecChanged(SpliceTests.name, let codec) = event { codec } else { nil }
        }
        #expect(changes == Array(codecs.dropFirst()))
    }

    @Test("a viewer that joins after a change is answered with the present codec first")
    func joining() throws {
        let scene = try Scene()
        _ = try scene.publish(.h264, frames: 20)
        let before = try scene.view()
        let video = try #require(before.answer?.media.first { $0.kind == .video })
        #expect(video.payloadFormats.map(\.codec) == [.h264, .vp8, .vp9, .av1, .h265])
        // Each codec has retransmissions of its own.
        #expect(Set(video.payloadFormats.compactMap(\.rtxPayloadType)).count == 5)
        var after: CallPeer?
        let sent = try scene.publish(.vp8) { _ in
            if after == nil { after = try? scene.view() }
        }
        let viewer = try #require(after)
        let joined = try #require(viewer.answer?.media.first { $0.kind == .video })
        #expect(joined.payloadFormats.first?.codec == .vp8)
        #expect(viewer.video.last?.frame.bytes == sent.last?.bytes)
        let offer = try scene.network.sfu.offerToViewer(
            PeerID(1 << 50), of: VirtualNetwork.stream, at: scene.network.now)
        let offered = try #require(offer.media.first { $0.kind == .video })
        #expect(offered.payloadFormats.first?.codec == .vp8)
        #expect(Set(offered.payloadFormats.map(\.codec)) == Set(IngestMedia.videoCodecs))
    }

    @Test("viewers of a stream of one publisher are answered with its codec only")
    func ordinary() throws {
        let network = VirtualNetwork()
        try network.sfu.publish(
            SpliceTests.name, stream: VirtualNetwork.stream, ingesting: IngestMedia(video: .h264, hasAudio: false),
            at: network.now)
        let viewer = try network.view()
        let video = try #require(viewer.answer?.media.first { $0.kind == .video })
        #expect(video.payloadFormats.map(\.codec) == [.h264])
    }

    @Test("packets that are lost after a change are retransmitted in the format of the codec")
    func losses() throws {
        let scene = try Scene()
        scene.network.link.down = LinkConditions(delay: .milliseconds(20), loss: .random(0.03))
        let viewer = try scene.view()
        _ = try scene.publish(.h264)
        let sent = Set(try scene.publish(.vp8, frames: 250).map(\.bytes))
        // Without retransmissions, each loss costs all frames up to the next key frame.
        #expect(viewer.video.count { sent.contains($0.frame.bytes) } > 225)
    }

    @Test("a viewer of one codec has audio while a publisher sends another one, which is the reported reason")
    func oneCodec() throws {
        let scene = try Scene()
        let viewer = try scene.view(terms: Self.h264Only)
        let first = try scene.publish(.h264)
        var views: [ViewedLayers] = []
        _ = try scene.publish(.vp8) { network in
            if let viewed = network.sfu.layers(viewedBy: viewer.id) { views.append(viewed) }
        }
        #expect(views.last?.cause == .codec && views.last?.choice == .audioOnly && views.last?.current == nil)
        let audio = viewer.audio.count
        #expect(audio > 290)
        let third = try scene.publish(.h264)
        #expect(viewer.video.map(\.frame.bytes) == (first + third).map(\.bytes))
        #expect(viewer.audio.count > audio + 140)
        #expect(scene.network.sfu.layers(viewedBy: viewer.id)?.cause != .codec)
        #expect(scene.isPresent(viewer))
    }

    @Test("a viewer that joins without the present codec has audio, and video when its codec returns")
    func joiningWithoutCodec() throws {
        let scene = try Scene()
        var late: CallPeer?
        _ = try scene.publish(.vp8) { _ in
            if late == nil { late = try? scene.view(terms: Self.h264Only) }
        }
        let viewer = try #require(late)
        #expect(viewer.video.isEmpty && viewer.audio.count > 100)
        let sent = try scene.publish(.h264)
        #expect(viewer.video.map(\.frame.bytes) == sent.map(\.bytes))
    }

    @Test("a viewer of one codec receives renditions in it, while a publisher sends another one")
    func renditions() throws {
        let scene = try Scene(hasRenditions: true)
        scene.network.sfu.offerRenditions(true, of: SpliceTests.name, at: scene.network.now)
        let viewer = try scene.view(terms: Self.h264Only)
        let other = try scene.view()
        let first = try scene.publish(.h264)
        var made: [EncodedFrame] = []
        var encoder = TestFrames(.h264, seed: 99)
        var seen = 0
        var isKeyFrameWanted = false
        let second = try scene.publish(.vp8, frames: 250) { network in
            for event in network.events[seen...] {
                switch event {
                case .renditionsWanted(SpliceTests.name, let layers) where layers != 0:
                    network.sfu.beginReadingForRenditions(VirtualNetwork.stream, at: network.now)
                    isKeyFrameWanted = true
                case .renditionKeyFramesWanted(SpliceTests.name, _): isKeyFrameWanted = true
                default: break
                }
            }
            seen = network.events.count
            var units: [PublishedUnit] = []
            network.sfu.readUnits(at: network.now) { units.append($0) }
            for unit in units where unit.use == .renditions {
                #expect(unit.codec == .vp8)
                var frame = encoder.next(isKeyFrame: isKeyFrameWanted, captureTime: unit.captureTime)
                isKeyFrameWanted = false
                frame.timestamp = MediaTime(ticks: unit.timestamp, rate: .video)
                made.append(frame)
                network.sfu.ingestRendition(
                    frame, layer: Rendition.transcodedLayer, of: SpliceTests.name, at: network.now)
            }
        }
        #expect(scene.network.sfu.renditionCodec(of: VirtualNetwork.stream) == .h264)
        #expect(made.count > 200)
        let madeFrames = Set(made.map(\.bytes))
        #expect(viewer.video.count { madeFrames.contains($0.frame.bytes) } > 150)
        #expect(viewer.video.allSatisfy { $0.frame.codec == .h264 })
        scene.network.sfu.endReadingForRenditions(VirtualNetwork.stream, at: scene.network.now)
        let third = try scene.publish(.h264)
        #expect(viewer.video.last?.frame.bytes == third.last?.bytes)
        #expect(Self.rises(viewer.video.map(\.frame)))
        #expect(other.video.map(\.frame.bytes) == (first + second + third).map(\.bytes))
    }

    @Test("a packager reads the frames of the codecs that it can have", arguments: [false, true])
    func units(beginsWithVP8: Bool) throws {
        let scene = try Scene(beginsWithVP8 ? .vp8 : .h264)
        let tracks = scene.network.sfu.beginReading(
            VirtualNetwork.stream, codecs: [.h264, .opus], at: scene.network.now)
        #expect(tracks == [0: .h264, Int?.none: .opus])
        var units: [PublishedUnit] = []
        let read: (VirtualNetwork) -> Void = { network in
            network.sfu.readUnits(at: network.now) { units.append($0) }
        }
        let first = try scene.publish(beginsWithVP8 ? .vp8 : .h264, each: read)
        // A packager does not wait for frames in a codec that it cannot have.
        #expect(scene.network.sfu.receivesVideo(VirtualNetwork.stream) == !beginsWithVP8)
        let second = try scene.publish(beginsWithVP8 ? .h264 : .vp8, each: read)
        #expect(scene.network.sfu.receivesVideo(VirtualNetwork.stream) == beginsWithVP8)
        let third = try scene.publish(.h264, each: read)
        let expected = (beginsWithVP8 ? second : first) + third
        let video = units.filter { $0.layer != nil }
        #expect(video.map(\.bytes) == expected.map(\.bytes))
        #expect(video.allSatisfy { $0.codec == .h264 })
        #expect(zip(video, video.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(units.count { $0.layer == nil } > 400)
    }

    @Test(
        "a packager reads renditions while a publisher sends a codec that it cannot have, and the publisher's frames afterwards",
        arguments: [PublishedUnit.Use.packaging, .transportStream], [false, true])
    func substitutes(use: PublishedUnit.Use, beginsLate: Bool) throws {
        let scene = try Scene(hasRenditions: true)
        let network = scene.network
        network.sfu.offerRenditions(true, of: SpliceTests.name, at: network.now)
        func begin() {
            let tracks = network.sfu.beginReading(
                VirtualNetwork.stream, codecs: [.h264, .opus], for: use, at: network.now)
            #expect(tracks == [0: .h264, Int?.none: .opus])
        }
        var units: [PublishedUnit] = []
        var made: [EncodedFrame] = []
        var encoder = TestFrames(.h264, seed: 99)
        var wanted: [UInt8] = []
        var isKeyFrameWanted = false
        var seen = 0
        let step: (VirtualNetwork) -> Void = { network in
            for event in network.events[seen...] {
                switch event {
                case .renditionsWanted(SpliceTests.name, let layers):
                    wanted.append(layers)
                    // The process of the platform begins with the newest key frame, and ends when nobody needs it.
                    if layers == 0 {
                        network.sfu.endReadingForRenditions(VirtualNetwork.stream, at: network.now)
                    } else {
                        network.sfu.beginReadingForRenditions(VirtualNetwork.stream, at: network.now)
                        isKeyFrameWanted = true
                    }
                case .renditionKeyFramesWanted(SpliceTests.name, _): isKeyFrameWanted = true
                default: break
                }
            }
            seen = network.events.count
            var read: [PublishedUnit] = []
            network.sfu.readUnits(at: network.now) { read.append($0) }
            units += read.filter { $0.use == use }
            for unit in read where unit.use == .renditions {
                var frame = encoder.next(isKeyFrame: isKeyFrameWanted, captureTime: unit.captureTime)
                isKeyFrameWanted = false
                frame.timestamp = MediaTime(ticks: unit.timestamp, rate: .video)
                made.append(frame)
                network.sfu.ingestRendition(
                    frame, layer: Rendition.transcodedLayer, of: SpliceTests.name, at: network.now)
            }
        }
        if !beginsLate { begin() }
        let first = try scene.publish(.h264, each: step)
        #expect(wanted.isEmpty, "nothing is transcoded for a publisher with the codec")
        var (frames, madeBefore) = (0, 0)
        _ = try scene.publish(.vp8, frames: 250) { network in
            frames += 1
            if beginsLate, frames == 50 { begin() }
            step(network)
            // A key frame that the packager needs is one of the rendition.
            if frames == 150 {
                madeBefore = made.count
                network.sfu.requestKeyFrame(of: VirtualNetwork.stream, layer: 0, for: use)
                let receivesVideo = network.sfu.receivesVideo(VirtualNetwork.stream)
                #expect(receivesVideo)
            }
        }
        let third = try scene.publish(.h264, each: step)
        #expect(wanted == [1 << UInt8(Rendition.transcodedLayer), 0], "\(wanted)")
        let madeFrames = Set(made.map(\.bytes))
        let video = units.filter { $0.layer != nil }
        #expect(video.allSatisfy { $0.codec == .h264 && $0.layer == 0 })
        #expect(zip(video, video.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        let substituted = video.filter { madeFrames.contains($0.bytes) }
        #expect(substituted.count > (beginsLate ? 150 : 200), "\(substituted.count) of \(made.count)")
        #expect(substituted.first?.isKeyFrame == true)
        #expect(made.dropFirst(madeBefore).contains { $0.isKeyFrame }, "the request reached the renditions")
        let others = video.filter { !madeFrames.contains($0.bytes) }
        #expect(others.map(\.bytes) == ((beginsLate ? [] : first) + third).map(\.bytes))
        // No reader remains.
        network.sfu.endReading(VirtualNetwork.stream, for: use, at: network.now)
        let isReading = network.sfu.isReadingUnits
        #expect(!isReading)
    }

    @Test(
        "outputs that can have different codecs request the key frames of what each one reads",
        arguments: [false, true])
    func outputs(hasRenditions: Bool) throws {
        let scene = try Scene(hasRenditions: hasRenditions)
        let network = scene.network
        network.sfu.offerRenditions(hasRenditions, of: SpliceTests.name, at: network.now)
        _ = network.sfu.beginReading(VirtualNetwork.stream, codecs: [.h264, .vp9, .opus], at: network.now)
        _ = network.sfu.beginReading(
            VirtualNetwork.stream, codecs: [.h264, .opus], for: .transportStream, at: network.now)
        var units: [PublishedUnit] = []
        let read: (VirtualNetwork) -> Void = { network in
            network.sfu.readUnits(at: network.now) { units.append($0) }
        }
        _ = try scene.publish(.h264, each: read)
        let sent = try scene.publish(.vp9, each: read)
        let packaged = units.filter { $0.use == .packaging && $0.codec == .vp9 }
        #expect(packaged.map(\.bytes) == sent.map(\.bytes))
        let source = network.sfu.forwarder.source(ofUnitsOf: 0, VirtualNetwork.stream, for: .packaging)
        #expect(source == 0)
        let other = network.sfu.forwarder.source(ofUnitsOf: 0, VirtualNetwork.stream, for: .transportStream)
        #expect(other == (hasRenditions ? Rendition.transcodedLayer : nil))
        let receivesVideo = network.sfu.receivesVideo(VirtualNetwork.stream)
        #expect(receivesVideo)
    }

    @Test("each layer of a stream changes its codec at its own key frame")
    func layers() throws {
        let scene = try Scene(layers: 2)
        let viewer = try scene.view()
        _ = try scene.publish(.h264, layers: 2, frames: 200)
        let second = try scene.publish(.vp8, layers: 2, frames: 200)
        let third = try scene.publish(.h264, frames: 200)
        let frames = viewer.video.map(\.frame)
        let (secondFrames, thirdFrames) = (Set(second.map(\.bytes)), Set(third.map(\.bytes)))
        #expect(frames.count { secondFrames.contains($0.bytes) } > 150)
        #expect(frames.count { thirdFrames.contains($0.bytes) } > 150)
        #expect(frames.last?.bytes == third.last?.bytes)
        #expect(Self.rises(frames))
    }

    @Test("a stream that is forwarded to another one may change its codec, as that of a link of an edge")
    func forwarded() throws {
        let scene = try Scene()
        let network = scene.network
        let source = StreamID("forwarded")
        var media = IngestMedia(video: .h264, hasAudio: true)
        media.answersKeyFrameRequests = true
        media.furtherVideo = IngestMedia.videoCodecs
        try network.sfu.publish(PeerID(1 << 42), stream: source, ingesting: media, at: network.now)
        network.sfu.watch(source, at: network.now)
        let viewer = try scene.view()
        var isForwarded = false
        var sent: [EncodedFrame] = []
        for codec in [Codec.h264, .vp8, .h264] {
            sent += try scene.publish(codec, into: source) { network in
                guard !isForwarded else { return }
                isForwarded = (try? network.sfu.splice(source, into: VirtualNetwork.stream, at: network.now)) != nil
            }
        }
        #expect(isForwarded)
        let received = viewer.video.map(\.frame)
        #expect(received.map(\.codec) == sent.map(\.codec))
        #expect(received.map(\.bytes) == sent.map(\.bytes))
        #expect(Self.rises(received))
        #expect(scene.isPresent(viewer))
    }

    @Test("viewers of an edge receive each codec in one track")
    func edge() throws {
        let scene = try Scene()
        let node = try scene.network.addNode()
        let viewer = try node.view(using: &scene.network.generator, at: scene.network.now)
        scene.network.deliverAll(node)
        scene.network.settleRelay()
        #expect(scene.network.run { viewer.isConnected })
        var sent: [EncodedFrame] = []
        for codec in [Codec.h264, .vp8, .h264] { sent += try scene.publish(codec) }
        #expect(viewer.video.map(\.frame.bytes) == sent.map(\.bytes))
        #expect(viewer.video.map(\.frame.codec) == sent.map(\.codec))
        #expect(Self.rises(viewer.video.map(\.frame)))
    }
}

import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// A publisher of VP9 with three spatial layers in one SSRC, and viewers that receive some of them.
struct ScalableLayerTests {
    private static let withoutArrivals: RTCPFeedback = [.nack, .pli, .fir, .remb]

    private struct Scene {
        let network: VirtualNetwork
        let publisher: ScriptedPeer
        private var picture: UInt32 = 0
        private var sequence: UInt16 = 65_000
        private var requestsSeen = 0
        private var wantsKeyFrame = true
        private(set) var keyFrameCount = 0

        /// The beginning of a key frame as libvpx writes it, for 208x120 pixels.
        private static let keyFrame: [UInt8] = [
            0x82, 0x49, 0x83, 0x42, 0x00, 0x0C, 0xF0, 0x07, 0x76, 0x12, 0x38, 0x24, 0x1C, 0x18, 0xC6, 0x00,
        ]
        /// The sizes of the frames of the layers in bytes: about 50, 160 and 410 kbit/s with headers.
        private static let sizes = [180, 480, 1_150]

        init() throws {
            network = VirtualNetwork()
            publisher = try network.scriptPublisher(.vp9)
            let publisher = publisher
            #expect(network.run { publisher.isConnected })
        }

        func view() throws -> ScriptedPeer {
            let viewer = try network.scriptViewer(feedback: ScalableLayerTests.withoutArrivals, codecs: [.vp9])
            #expect(network.run { viewer.isConnected })
            return viewer
        }

        /// Sends 25 coded pictures per second for a number of seconds, with the key frames that were requested.
        mutating func send(_ seconds: Double, allowing allowed: [(viewer: ScriptedPeer, kilobits: Int64)]) {
            for count in 0..<Int((seconds * 25).rounded(.up)) {
                sendTemporalUnit()
                if count % 5 == 0 { for (viewer, kilobits) in allowed { viewer.allow(kilobits, by: network) } }
            }
        }

        private mutating func sendTemporalUnit() {
            let isKeyFrame = wantsKeyFrame
            wantsKeyFrame = false
            keyFrameCount += isKeyFrame ? 1 : 0
            for (spatial, size) in Self.sizes.enumerated() {
                // I, L, B and E, and P unless it is a key frame; TID and SID; TL0PICIDX.
                let descriptor: [UInt8] = [
                    isKeyFrame ? 0xAC : 0xEC, 0x80 | UInt8(picture >> 8 & 0x7F), UInt8(picture & 0xFF),
                    UInt8(spatial) << 1 | (spatial > 0 ? 1 : 0), UInt8(picture & 0xFF),
                ]
                let start = isKeyFrame && spatial == 0 ? Self.keyFrame : [0x86]
                let number = withUnsafeBytes(of: picture.bigEndian) { Array($0) } + [UInt8(spatial)]
                let padding = [UInt8](repeating: 7, count: size - descriptor.count - start.count - number.count)
                publisher.say(
                    .video, sequence: sequence, timestamp: picture &* 3_600,
                    payload: descriptor + start + padding + number, marker: spatial == 2)
                sequence &+= 1
            }
            picture += 1
            network.deliverAll(publisher)
            network.run(for: .milliseconds(40))
            let requests = publisher.pictureLossIndications
            if requests > requestsSeen { wantsKeyFrame = true }
            requestsSeen = requests
        }
    }

    /// A packet that a viewer received.
    private struct Seen: Equatable {
        var number: UInt32
        var spatial: UInt8
        var sequence: UInt16
        var timestamp: UInt32
        var marker: Bool
    }

    private static func seen(by viewer: ScriptedPeer) -> [Seen] {
        viewer.packets(viewer.media(.video).remoteSources.first?.ssrc).filter { $0.payload.count > 5 }.map { packet in
            let end = packet.payload.suffix(5)
            return Seen(
                number: end.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }, spatial: end.last ?? 0,
                sequence: packet.header.sequenceNumber, timestamp: packet.header.timestamp,
                marker: packet.header.marker)
        }
    }

    /// The changes of the highest layer of the coded pictures.
    private static func order(_ seen: [Seen]) -> [UInt8] {
        seen.filter(\.marker).map(\.spatial).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    private static func expectSeamless(_ seen: [Seen]) {
        for (earlier, later) in zip(seen, seen.dropFirst()) {
            #expect(later.sequence == earlier.sequence &+ 1, "frame \(later.number)")
            // The marker bit ends each coded picture, and a coded picture has all layers below its highest one.
            #expect(earlier.marker == (earlier.timestamp != later.timestamp), "frame \(earlier.number)")
            #expect(later.number - earlier.number <= 1, "frame \(later.number)")
            #expect(later.spatial == (earlier.marker ? 0 : earlier.spatial + 1), "frame \(later.number)")
        }
    }

    @Test("each viewer receives the spatial layers that its link carries, without a gap or a missing picture")
    func followsTheLink() throws {
        var scene = try Scene()
        scene.send(1.2, allowing: [])
        let viewers = try (0..<3).map { _ in try scene.view() }
        let links = zip(viewers, [110, 260, 5_000] as [Int64]).map { (viewer: $0, kilobits: $1) }
        scene.send(8, allowing: links)
        let seen = viewers.map { Self.seen(by: $0) }
        #expect(seen.map { $0.suffix(20).map(\.spatial).max() } == [0, 1, 2])
        for packets in seen { Self.expectSeamless(packets) }
    }

    @Test("a viewer's layers are lowered without a key frame, and raised with the one that it needs")
    func changes() throws {
        var scene = try Scene()
        scene.send(1.2, allowing: [])
        let viewer = try scene.view()
        scene.send(4, allowing: [(viewer, 5_000)])
        let keyFrames = scene.keyFrameCount
        scene.send(2, allowing: [(viewer, 110)])
        #expect(scene.keyFrameCount == keyFrames)
        scene.send(6, allowing: [(viewer, 5_000)])
        #expect(scene.keyFrameCount == keyFrames + 1)
        let seen = Self.seen(by: viewer)
        #expect(Self.order(seen).suffix(3) == [2, 0, 2])
        Self.expectSeamless(seen)
    }

    @Test("a lost packet is retransmitted under the viewer's number, and layers in one SSRC are one layer for the API")
    func retransmits() throws {
        var scene = try Scene()
        scene.send(1.2, allowing: [])
        let viewer = try scene.view()
        scene.send(3, allowing: [(viewer, 110)])
        let layers = try #require(scene.network.layers(viewedBy: viewer))
        #expect(layers.layers.count == 1 && layers.choice == .layer(0) && layers.cause == .link)
        let wanted = try #require(Self.seen(by: viewer).last)
        let media = viewer.media(.video)
        let source = try #require(media.remoteSources.first)
        let lost = [wanted.sequence]
        viewer.report { _ = $0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: source.ssrc, lost: lost.span) }
        scene.network.run(for: .milliseconds(50))
        scene.network.deliverAll(viewer)
        scene.network.run(for: .milliseconds(50))
        let again = viewer.packets.filter { $0.header.payloadType == media.rtxPayloadType && $0.payload.count > 100 }
        let repeated = try #require(again.last)
        #expect(repeated.payload.prefix(2).reduce(0) { $0 << 8 | UInt16($1) } == wanted.sequence)
        #expect(repeated.payload.last == wanted.spatial && repeated.header.marker)
    }

    @Test("packets of layers that a link does not carry any more are replaced by a key frame of the lower layers")
    func replacesRepairs() throws {
        var scene = try Scene()
        scene.send(1.2, allowing: [])
        let viewer = try scene.view()
        scene.send(3, allowing: [(viewer, 5_000)])
        // The link falls, and loses packets of the highest layer at that time.
        for _ in 0..<50 where scene.network.layers(viewedBy: viewer)?.cause != .link {
            scene.send(0.04, allowing: [(viewer, 110)])
        }
        try #require(scene.network.layers(viewedBy: viewer)?.cause == .link)
        let lost = Self.seen(by: viewer).filter { $0.spatial == 2 }.suffix(12).map(\.sequence)
        #expect(lost.count == 12)
        func request(_ scene: Scene) {
            let media = viewer.media(.video)
            guard let source = media.remoteSources.first else { return }
            viewer.report { _ = $0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: source.ssrc, lost: lost.span) }
            scene.network.deliverAll(viewer)
            scene.network.run(for: .milliseconds(50))
        }
        let (requests, packets) = (scene.publisher.pictureLossIndications, viewer.packets.count)
        request(scene)
        #expect(scene.publisher.pictureLossIndications > requests)
        let media = viewer.media(.video)
        let repeated = viewer.packets.dropFirst(packets).filter { packet in
            packet.header.payloadType == media.rtxPayloadType && packet.payload.count > 2
                && lost.contains(UInt16(packet.payload[0]) << 8 | UInt16(packet.payload[1]))
        }
        #expect(repeated.isEmpty)
        let keyFrames = scene.keyFrameCount
        scene.send(1, allowing: [(viewer, 110)])
        #expect(scene.keyFrameCount > keyFrames)
        let keyFramesSince = scene.keyFrameCount
        // The key frame makes the lost packets needless, also if the viewer has not received it yet.
        request(scene)
        scene.send(1, allowing: [(viewer, 110)])
        #expect(scene.keyFrameCount == keyFramesSince)
        let seen = Self.seen(by: viewer)
        #expect(seen.suffix(20).map(\.spatial).max() == 0)
        Self.expectSeamless(seen)
    }
}

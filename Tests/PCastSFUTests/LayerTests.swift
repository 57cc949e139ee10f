import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// A publisher of three layers, and viewers that receive one of them.
struct LayerTests {
    private static let withoutArrivals: RTCPFeedback = [.nack, .pli, .fir, .remb]

    private struct Scene {
        let network: VirtualNetwork
        let publisher: ScriptedPeer
        var layers = ScriptedLayers()

        /// Connects a publisher. `unreported` is a layer without sender reports.
        ///
        /// - Throws: The error of the publisher's admission.
        init(feedback: RTCPFeedback = .all, unreported: Int? = nil) throws {
            network = VirtualNetwork()
            if let unreported { layers.layers[unreported].isReported = false }
            publisher = try network.scriptPublisher(.vp8, feedback: feedback, layers: ScriptedLayers.rids)
            let publisher = publisher
            #expect(network.run { publisher.isConnected })
            send(1)
        }

        /// Sends 25 frames per second for a number of seconds.
        mutating func send(_ seconds: Double, allowing kilobits: Int64? = nil, to viewer: ScriptedPeer? = nil) {
            for _ in 0..<Int((seconds * 25 / 5).rounded(.up)) {
                layers.send(5, from: publisher, by: network)
                if let kilobits { viewer?.allow(kilobits, by: network) }
            }
        }

        func view() throws -> ScriptedPeer {
            let viewer = try network.scriptViewer(feedback: LayerTests.withoutArrivals)
            #expect(network.run { viewer.isConnected })
            return viewer
        }
    }

    /// Whether sequence numbers, timestamps and picture IDs continue as in a single layer.
    private static func isSeamless(_ seen: [ScriptedLayers.Seen]) -> Bool {
        zip(seen, seen.dropFirst()).allSatisfy { earlier, later in
            later.sequence == earlier.sequence &+ 1 && later.pictureID == (earlier.pictureID + 1) & 0x7FFF
                && later.tl0PictureIndex == earlier.tl0PictureIndex &+ 1
                && Int32(bitPattern: later.timestamp &- earlier.timestamp) > 0
        }
    }

    @Test("a viewer's sequence numbers, timestamps and picture IDs continue when its layer changes")
    func seamless() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        scene.send(2, allowing: 100, to: viewer)
        scene.send(6, allowing: 5_000, to: viewer)
        scene.send(3, allowing: 100, to: viewer)
        let seen = viewer.seen
        let order = seen.map(\.frame.layer).reduce(into: [UInt8]()) { if $0.last != $1 { $0.append($1) } }
        #expect(order == [1, 2, 0, 2, 0])
        #expect(Self.isSeamless(seen))
        // Each change occurs at a key frame of the new layer.
        let changes = zip(seen, seen.dropFirst()).filter { $0.frame.layer != $1.frame.layer }
        #expect(changes.allSatisfy { $1.frame.isKeyFrame })
        // Frames that were captured at the same time have the same timestamp, except for a tick that keeps their order.
        let first = try #require(seen.first)
        for packet in seen {
            let passed = Int64(packet.timestamp &- first.timestamp)
            let captured = Int64(packet.frame.number - first.frame.number) * 3_600
            #expect(abs(passed - captured) <= 3_601, "frame \(packet.frame.number)")
        }
        // No frame is missing. At most one is sent twice, as the key frame of a change.
        let numbers = seen.map(\.frame.number)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { (0...1).contains(Int($1) - Int($0)) })
    }

    @Test("many changes of layers do not shift the timestamps")
    func timesStay() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        for _ in 0..<10 {
            scene.send(3, allowing: 5_000, to: viewer)
            scene.send(1, allowing: 100, to: viewer)
        }
        let seen = viewer.seen
        let first = try #require(seen.first)
        let last = try #require(seen.last)
        let passed = Int64(last.timestamp &- first.timestamp)
        #expect(abs(passed - Int64(last.frame.number - first.frame.number) * 3_600) <= 3_601)
        #expect(Self.isSeamless(seen))
    }

    @Test("a key frame is requested only of the wanted layer, and once for all viewers")
    func asksTheLayer() throws {
        var scene = try Scene()
        let viewers = try (0..<3).map { _ in try scene.view() }
        scene.send(3)
        let before = scene.layers.layers.map(\.requestsSeen)
        for viewer in viewers { viewer.allow(100, by: scene.network) }
        scene.send(1)
        let asked = zip(scene.layers.layers.map(\.requestsSeen), before).map { $0 - $1 }
        #expect(asked == [1, 0, 0])
        #expect(viewers.allSatisfy { $0.seen.last?.frame.layer == 0 })
    }

    @Test("a viewer's picture loss indication is forwarded for its layer only")
    func forwardsPictureLossIndication() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 2)
        let before = scene.layers.layers.map(\.requestsSeen)
        let ssrc = try #require(viewer.media(.video).remoteSources.first?.ssrc)
        viewer.report { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: ssrc) }
        scene.network.deliverAll(viewer)
        scene.send(1)
        #expect(zip(scene.layers.layers.map(\.requestsSeen), before).map { $0 - $1 } == [0, 0, 1])
    }

    @Test("a layer without sender reports is used after a short wait, with timestamps by arrival")
    func layerWithoutSenderReports() throws {
        var scene = try Scene(unreported: 0)
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 2)
        scene.send(2, allowing: 100, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 0)
        #expect(Self.isSeamless(viewer.seen))
        let change = try #require(viewer.seen.firstIndex { $0.frame.layer == 0 })
        let (before, after) = (viewer.seen[change - 1], viewer.seen[change])
        // A packet arrives when its frame is captured, so arrivals differ as much as captures.
        #expect(abs(Int64(after.timestamp &- before.timestamp) - 3_600) <= 3_600)
    }

    @Test("packets of the former layer are retransmitted after a change, as they were first sent")
    func repairsFormer() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        try scene.network.sfu.pin(viewer.id, layer: "l", at: scene.network.now)
        scene.send(0.4)
        let seen = viewer.seen
        let change = try #require(seen.firstIndex { $0.frame.layer == 0 })
        let lost = seen[change - 2]
        let media = viewer.media(.video)
        let ssrc = try #require(media.remoteSources.first)
        viewer.report {
            _ = $0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: ssrc.ssrc, lost: [lost.sequence].span)
        }
        scene.network.deliverAll(viewer)
        scene.send(0.2)
        let repaired = try #require(viewer.packets(ssrc.rtxSSRC).last)
        #expect(repaired.payload.prefix(2) == [UInt8(lost.sequence >> 8), UInt8(lost.sequence & 0xFF)])
        let original = Array(repaired.payload.dropFirst(2))
        let parsed = VP8PayloadDescriptor.parse(original.span)
        let descriptor = try #require(parsed)
        #expect(descriptor.pictureID?.value == lost.pictureID && repaired.header.timestamp == lost.timestamp)
    }

    @Test("a layer without viewers is paused, and arrives within 500 ms after a viewer wants it")
    func pausesUnwatched() throws {
        var scene = try Scene(feedback: .all)
        let viewer = try scene.view()
        scene.send(5, allowing: 5_000, to: viewer)
        // The pause is requested repeatedly while the publisher continues to send.
        let since = scene.network.now - .seconds(1 as Int64)
        let paused = scene.publisher.pauseMessages.filter { $0.message.kind == .pause && $0.arrival > since }
        #expect(Set(paused.map(\.message.ssrc)) == [10, 20], "the viewer receives the best layer")
        for index in 0..<2 { scene.layers.layers[index].isSent = false }
        for index in 0..<2 {
            scene.publisher.report { writer in
                writer.pauseResume(
                    senderSSRC: 1,
                    PauseResume.Message(
                        ssrc: scene.layers.layers[index].ssrc,
                        kind: .paused(lastSequenceNumber: UInt32(scene.layers.layers[index].sequence &- 1)),
                        pauseID: 0))
            }
        }
        scene.network.deliverAll(scene.publisher)
        scene.send(1)
        let wanted = scene.network.now
        viewer.allow(100, by: scene.network)
        #expect(
            scene.network.run {
                scene.publisher.pauseMessages.contains { $0.message.kind == .resume && $0.message.ssrc == 10 }
            },
            "\(String(describing: scene.network.layers(viewedBy: viewer))) \(scene.publisher.pauseMessages.suffix(8))")
        scene.layers.layers[0].isSent = true
        scene.layers.layers[0].wantsKeyFrame = true
        scene.send(0.2)
        let first = try #require(viewer.packets.first { ScriptedLayers.Seen($0)?.frame.layer == 0 })
        #expect(first.arrival - wanted <= .milliseconds(500))
        #expect(Self.isSeamless(viewer.seen))
    }

    @Test("audio continues if no layer fits the link, and video resumes within five seconds of recovery")
    func audioOnly() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        scene.send(3, allowing: 20, to: viewer)
        let count = viewer.seen.count
        scene.send(2, allowing: 20, to: viewer)
        #expect(viewer.seen.count == count)
        scene.send(5, allowing: 5_000, to: viewer)
        #expect(viewer.seen.count > count + 75 && viewer.seen.last?.frame.layer == 2)
        #expect(Self.isSeamless(Array(viewer.seen.dropFirst(count))))
        #expect(viewer.seen[count].sequence == viewer.seen[count - 1].sequence &+ 1)
    }

    @Test("after a time without video, the sequence numbers continue and the timestamps follow the clock")
    func videoAfterPause() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        scene.send(5, allowing: 20, to: viewer)
        let count = viewer.seen.count
        scene.send(5, allowing: 5_000, to: viewer)
        let seen = viewer.seen
        try #require(seen.count > count)
        let (last, next) = (seen[count - 1], seen[count])
        #expect(next.frame.number - last.frame.number > 75 && next.frame.isKeyFrame)
        #expect(next.sequence == last.sequence &+ 1)
        let passed = Int64(next.timestamp &- last.timestamp)
        #expect(abs(passed - Int64(next.frame.number - last.frame.number) * 3_600) <= 3_601)
    }

    @Test("a layer that the publisher stops is replaced by the next lower one, and used again when it returns")
    func followsPublisher() throws {
        var scene = try Scene(feedback: [.nack, .pli, .fir])
        let viewer = try scene.view()
        scene.send(3, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 2)
        scene.layers.layers[2].isSent = false
        scene.send(2, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 1)
        scene.layers.layers[2].isSent = true
        scene.send(3, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 2)
        #expect(Self.isSeamless(viewer.seen))
    }

    /// The encoders of PCast's own publisher, which encode nothing for paused layers.
    private struct Encoders {
        var layers: [TestFrames]
        var made = [0, 0, 0]
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

        mutating func send(_ videoFrames: Int, from publisher: CallPeer, by network: VirtualNetwork) {
            for _ in 0..<videoFrames {
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

    @Test("PCast's own publisher encodes only the layers with viewers, and resumes a layer within 500 ms")
    func ownPublisher() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8, audio: false, layers: 3)
        #expect(network.run { publisher.isConnected })
        #expect(publisher.connection.sendingLayerCount == 3)
        var encoders = Encoders()
        encoders.send(5, from: publisher, by: network)
        let viewer = try network.scriptViewer(feedback: Self.withoutArrivals)
        #expect(network.run { viewer.isConnected })
        for _ in 0..<5 {
            viewer.allow(5_000, by: network)
            encoders.send(25, from: publisher, by: network)
        }
        let before = encoders.made
        encoders.send(50, from: publisher, by: network)
        #expect(zip(encoders.made, before).map { $0 - $1 } == [0, 0, 50], "the viewer receives the best layer")

        let wanted = network.now
        let count = viewer.packets.count
        viewer.allow(110, by: network)
        encoders.send(25, from: publisher, by: network)
        let small = viewer.packets.dropFirst(count).first { $0.payload.count < 500 && $0.header.marker }
        #expect(try #require(small).arrival - wanted <= .milliseconds(500))
        #expect(encoders.made[0] >= 12)
        encoders.send(75, from: publisher, by: network)
        let after = encoders.made
        encoders.send(25, from: publisher, by: network)
        #expect(
            zip(encoders.made, after).map { $0 - $1 } == [25, 0, 0], "then the viewer receives only the lowest layer")
        let sequences = viewer.packets(viewer.media(.video).remoteSources.first?.ssrc).map(\.header.sequenceNumber)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    @Test("a viewer's bit rate limit bounds its layer until it is removed")
    func limit() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8, audio: false, layers: 3)
        #expect(network.run { publisher.isConnected })
        var encoders = Encoders()
        encoders.send(5, from: publisher, by: network)
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        encoders.send(75, from: publisher, by: network)
        #expect(network.layers(viewedBy: viewer)?.current == "h")
        viewer.connection.setReceivingLimit(.kilobits(250), at: network.now)
        network.deliverAll(viewer)
        encoders.send(25, from: publisher, by: network)
        let limited = try #require(network.layers(viewedBy: viewer))
        #expect(limited.current == "m" && limited.cause == .limit)
        viewer.connection.setReceivingLimit(nil, at: network.now)
        network.deliverAll(viewer)
        encoders.send(75, from: publisher, by: network)
        #expect(network.layers(viewedBy: viewer)?.current == "h")
    }

    @Test("a viewer that selects a layer receives it and no better one, until the selection is removed")
    func pin() throws {
        var scene = try Scene()
        let viewer = try scene.view()
        scene.send(2, allowing: 5_000, to: viewer)
        try scene.network.sfu.pin(viewer.id, layer: "l", at: scene.network.now)
        scene.network.settleRelay()
        scene.send(1)
        #expect(viewer.seen.last?.frame.layer == 0)
        let viewed = try #require(scene.network.layers(viewedBy: viewer))
        #expect(viewed.current == "l" && viewed.pinned == "l" && viewed.cause == .pin)
        #expect(
            viewed.layers.map(\.name) == ["h", "m", "l"] && viewed.layers.map(\.dimensions?.width) == [1280, 640, 320])
        #expect(throws: SFUError.unknownLayer("x")) {
            try scene.network.sfu.pin(viewer.id, layer: "x", at: scene.network.now)
        }
        try scene.network.sfu.pin(viewer.id, layer: nil, at: scene.network.now)
        scene.send(2, allowing: 5_000, to: viewer)
        #expect(viewer.seen.last?.frame.layer == 2)
        #expect(Self.isSeamless(viewer.seen))
    }
}

import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// The parts of a packet that the SFU forwards or rewrites, and the packet with which a layer begins.
struct RewritingTests {
    @Test("header extensions of one hop are rewritten, and those of the frame are forwarded")
    func headerExtensions() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        let said = Self.values
        let keyFrame: [UInt8] = [0x10, 0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01, 7, 7]
        for number in 0..<5 {
            let payload = number == 0 ? keyFrame : [0x10, 0x11, 2, 0, 7, 7]
            publisher.say(
                .video, sequence: UInt16(500 + number), timestamp: UInt32(number) * 3_000, payload: payload,
                transportSequenceNumber: UInt16(9_000 + 7 * number), extensions: said)
            network.deliverAll(publisher)
            network.run(for: .milliseconds(33))
        }
        let media = viewer.media(.video)
        let packets = viewer.packets(media.remoteSources.first?.ssrc)
        try #require(packets.count == 5)
        var numbers: [UInt16] = []
        for packet in packets {
            let (block, map) = (packet.header.extensions, media.extensionMap)
            let passed = RTPExtensionValues.forwarded(block, in: packet.bytes.span, by: map)
            let name = block.mid(in: packet.bytes.span, by: map)
            let mid = name.map { String(decoding: packet.bytes[$0], as: UTF8.self) }
            let rid = block.rid(in: packet.bytes.span, by: map)
            let sendTime = block.absoluteSendTime(in: packet.bytes.span, by: map)
            #expect(passed.videoOrientation == said.videoOrientation)
            // The playout delay depends on the viewer's link, which the SFU measures.
            #expect(passed.playoutDelay != nil && passed.playoutDelay != said.playoutDelay)
            #expect(passed.absoluteCaptureTime?.ntpTimestamp == said.absoluteCaptureTime?.ntpTimestamp)
            // The MIDs of the viewer's sections differ from the publisher's.
            #expect(mid == nil || mid == media.mid)
            #expect(rid == nil)
            #expect(sendTime != said.absoluteSendTime)
            let number = block.transportSequenceNumber(in: packet.bytes.span, by: map)
            if let number { numbers.append(number) }
        }
        #expect(numbers.count == 5 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    /// The header extensions of a publisher's packets.
    private static let values: RTPExtensionValues = {
        var values = RTPExtensionValues()
        values.mid = RTPStreamIdentifier("publishers")
        values.absoluteSendTime = AbsoluteSendTime(rawValue: 0x12_3456)
        values.playoutDelay = PlayoutDelay(minimum: .milliseconds(50), maximum: .milliseconds(400))
        values.videoOrientation = 3
        values.absoluteCaptureTime = AbsoluteCaptureTime(ntpTimestamp: 0xEC00_0000_1234_5678)
        return values
    }()

    /// Returns the packets of a key frame with its parameter sets.
    private static func keyFrame(_ layer: Int) -> [[UInt8]] {
        let sets: [[UInt8]] = [[0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x01], [0x68, 0xCE, 0x3C, 0x80]]
        return sets.map { $0 + [UInt8(layer)] } + [ScriptedH264Layers.idr(layer)]
    }

    @Test("a switch to an H.264 layer waits for parameter sets, and begins with them")
    func layerSwitchNeedsParameterSets() throws {
        var layers = try ScriptedH264Layers()
        layers.send(Self.keyFrame)
        let viewer = try layers.viewerSwitchingDown(Self.keyFrame)
        // The layer has not sent the picture parameter set to which this key frame refers.
        let withoutSets = [[0x65, 0x88, 0x44] + ScriptedH264Layers.filling(0)]
        layers.send { $0 == 0 ? withoutSets : ScriptedH264Layers.frame($0) }
        for _ in 0..<3 { layers.send(ScriptedH264Layers.frame) }
        #expect(viewer.packets.last?.payload.last == 1, "the best layer continues until the other one can be decoded")
        layers.send { $0 == 0 ? Self.keyFrame($0) : ScriptedH264Layers.frame($0) }
        for _ in 0..<3 { layers.send(ScriptedH264Layers.frame) }
        let packets = viewer.packets(viewer.media(.video).remoteSources.first?.ssrc)
        let change = try #require(packets.lastIndex { $0.payload.last == 1 }).advanced(by: 1)
        #expect(packets.dropFirst(change).prefix(3).map { $0.payload[0] } == [0x67, 0x68, 0x65])
        #expect(packets.dropFirst(change).allSatisfy { $0.payload.last == 0 })
        let numbers = packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }
}

import PCastCore
import PCastSFU
import PCastWebRTC
import Testing

/// Frames from a publisher through the SFU to viewers, over good and bad networks.
struct ForwardingTests {
    private static let frameCount = 200

    struct Case: Sendable, CustomTestStringConvertible {
        let codec: Codec
        let loss: Int
        let seed: UInt64
        var testDescription: String { "\(codec), \(loss) % lost, seed \(seed)" }
    }

    private static let cases: [Case] = (1...20).map { seed in
        Case(codec: seed % 2 == 0 ? .h264 : .vp8, loss: [0, 2, 5][seed % 3], seed: UInt64(seed))
    }

    @Test(
        "frames arrive complete and in order, and lost video packets are retransmitted on both hops",
        arguments: cases)
    func forwards(_ example: Case) throws {
        let network = VirtualNetwork(seed: example.seed)
        network.link.loss = example.loss
        network.link.jitter = .milliseconds(8)
        network.link.duplication = 2
        let publisher = try network.publish(example.codec)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(example.codec, seed: example.seed)
        broadcast.send(Self.frameCount, from: publisher, by: network)
        // More frames follow, so that the loss of the last ones is detected.
        broadcast.send(50, from: publisher, by: network)
        network.run(for: .seconds(1 as Int64))

        let seen = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
        #expect(seen == Set(seen).sorted() && !seen.contains(-1))
        #expect(seen.count { $0 < Self.frameCount } >= Self.frameCount * (100 - 8 * example.loss) / 100)
        #expect(viewer.video.allSatisfy { broadcast.isSame($0.frame) })
        #expect(broadcast.keepsTime(viewer.video.map(\.frame)))

        let heard = viewer.audio.map { broadcast.number(of: $0) ?? -1 }
        #expect(heard == Set(heard).sorted() && !heard.contains(-1))
        #expect(heard.count { $0 < Self.frameCount } >= Self.frameCount * (100 - 4 * example.loss) / 100)
        #expect(broadcast.keepsTime(viewer.audio))
        #expect(viewer.gaps.count == 0 || example.loss > 0)
        #expect(network.events.contains(.mediaStarted(publisher.id)))
    }
}

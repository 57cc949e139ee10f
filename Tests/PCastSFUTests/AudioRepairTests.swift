import PCastCore
import PCastSFU
import PCastWebRTC
import Testing

/// Audio over bad networks: lost packets are repeated (RED) or retransmitted on either hop.
struct AudioRepairTests {
    private struct Heard {
        var lost: Int
        var count: Int
    }

    /// Sends until the loss is known, and then counts the packets that do not arrive at the viewer.
    private func broadcast(
        seed: UInt64, publisherLoss: Int, viewerLoss: Int, delay: TimeSpan = .milliseconds(15)
    ) throws -> (Heard, PeerConnectionStatistics) {
        let network = VirtualNetwork(seed: seed)
        network.link = VirtualNetwork.Link(loss: publisherLoss, delay: delay)
        let publisher = try network.publish(.h264)
        network.link = VirtualNetwork.Link(loss: viewerLoss, delay: delay)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.h264, seed: seed)
        broadcast.send(150, from: publisher, by: network)
        broadcast.send(500, from: publisher, by: network)
        broadcast.send(50, from: publisher, by: network)
        let heard = Set(viewer.audio.compactMap { broadcast.number(of: $0) })
        #expect(heard.count == viewer.audio.count, "no packet is received twice, and none that was not sent")
        #expect(broadcast.keepsTime(viewer.audio))
        let wanted = 150..<650
        return (Heard(lost: wanted.count { !heard.contains($0) }, count: wanted.count), viewer.connection.statistics)
    }

    @Test(
        "with 10 % loss on the viewer's hop, less than 1 % of audio is missing",
        arguments: 1...8 as ClosedRange<UInt64>)
    func viewersHop(seed: UInt64) throws {
        let (heard, statistics) = try broadcast(seed: seed, publisherLoss: 0, viewerLoss: 10)
        #expect(heard.lost <= heard.count / 100)
        #expect(statistics.packetsRepeated > 20)
    }

    @Test(
        "with 10 % loss on the publisher's hop, less than 1 % of audio is missing",
        arguments: 1...8 as ClosedRange<UInt64>)
    func publishersHop(seed: UInt64) throws {
        let (heard, statistics) = try broadcast(seed: seed, publisherLoss: 10, viewerLoss: 0)
        #expect(heard.lost <= heard.count / 100)
        // No packet is lost on this hop, so none is repeated on it.
        #expect(statistics.packetsRepeated == 0)
    }

    @Test("with 2 % loss on both hops, no audio is missing", arguments: 1...8 as ClosedRange<UInt64>)
    func bothHops(seed: UInt64) throws {
        let (heard, _) = try broadcast(seed: seed, publisherLoss: 2, viewerLoss: 2)
        #expect(heard.lost <= 1)
    }

    @Test("without loss, audio is neither repeated nor requested again")
    func noRepairWithoutLoss() throws {
        let (clean, statistics) = try broadcast(seed: 1, publisherLoss: 0, viewerLoss: 0)
        #expect(clean.lost == 0 && statistics.packetsRepeated == 0 && statistics.nackCount == 0)
    }
}

import PCastCore
import PCastSFU
import PCastWebRTC
import Testing

/// Sound over bad networks: what is lost on either hop is repeated or asked for again.
struct AudioRepairTests {
    private struct Heard {
        var lost: Int
        var count: Int
    }

    /// Sends a while until the loss is known, then counts what of the rest is missing at the viewer.
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
        #expect(heard.count == viewer.audio.count, "no packet twice, and none that was not sent")
        #expect(broadcast.keepsTime(viewer.audio))
        let wanted = 150..<650
        return (Heard(lost: wanted.count { !heard.contains($0) }, count: wanted.count), viewer.connection.statistics)
    }

    @Test(
        "A tenth lost on the viewer's hop: less than one in a hundred is missing",
        arguments: 1...8 as ClosedRange<UInt64>)
    func viewersHop(seed: UInt64) throws {
        let (heard, statistics) = try broadcast(seed: seed, publisherLoss: 0, viewerLoss: 10)
        #expect(heard.lost <= heard.count / 100)
        #expect(statistics.packetsRepeated > 20)
    }

    @Test(
        "A tenth lost on the publisher's hop: less than one in a hundred is missing",
        arguments: 1...8 as ClosedRange<UInt64>)
    func publishersHop(seed: UInt64) throws {
        let (heard, statistics) = try broadcast(seed: seed, publisherLoss: 10, viewerLoss: 0)
        #expect(heard.lost <= heard.count / 100)
        // Nothing is lost on this hop, so nothing is repeated on it (NACK9).
        #expect(statistics.packetsRepeated == 0)
    }

    @Test("Two in a hundred lost on both hops: nothing is missing", arguments: 1...8 as ClosedRange<UInt64>)
    func bothHops(seed: UInt64) throws {
        let (heard, _) = try broadcast(seed: seed, publisherLoss: 2, viewerLoss: 2)
        #expect(heard.lost <= 1)
    }

    @Test("NACK10: what a packet repeated is not asked for; where nothing is lost nothing is repeated or asked for")
    func nack10() throws {
        let (clean, statistics) = try broadcast(seed: 1, publisherLoss: 0, viewerLoss: 0)
        #expect(clean.lost == 0 && statistics.packetsRepeated == 0 && statistics.nackCount == 0)
    }
}

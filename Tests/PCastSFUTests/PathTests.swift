import PCastCore
import PCastSFU
import PCastWebRTC
import Testing

/// Peers that migrate, and addresses that are used by another peer later.
struct PathTests {
    @Test(
        "a viewer or publisher whose address fails continues on its other address",
        arguments: [true, false])
    func continuesOnOtherAddress(movesPublisher: Bool) throws {
        let network = VirtualNetwork()
        let moving = [network.newAddress(), network.newAddress()]
        let publisher = try network.publish(.vp8, addresses: movesPublisher ? moving : nil)
        let viewer = try network.view(addresses: movesPublisher ? nil : moving)
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(50, from: publisher, by: network)
        var used: TransportAddress?
        network.onSending = { bytes, path in
            if bytes[0] >= 128, moving.contains(path.remote) { used = path.remote }
        }
        broadcast.send(50, from: publisher, by: network)
        let before = try #require(used)
        let peer = movesPublisher ? publisher : viewer
        peer.link.dead = [before]
        broadcast.send(300, from: publisher, by: network)
        let counted = viewer.video.count
        broadcast.send(50, from: publisher, by: network)
        #expect(used != before)
        #expect(viewer.video.count >= counted + 48)
        #expect(network.endedReason(of: peer.id) == nil)
    }

    @Test("an address that another peer uses later belongs to that peer")
    func reusedAddress() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let first = try network.view()
        #expect(network.run { publisher.isConnected && first.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        network.remove(first)
        let second = try network.view(addresses: first.addresses)
        broadcast.send(50, from: publisher, by: network)
        #expect(second.isConnected && second.video.count >= 30)
        // The first viewer fails after 30 s, and the second remains.
        for _ in 0..<35 {
            broadcast.send(5, from: publisher, by: network)
            network.run(for: .milliseconds(900))
        }
        #expect(network.endedReason(of: first.id) == .failed)
        #expect(network.endedReason(of: second.id) == nil)
        let counted = second.video.count
        broadcast.send(50, from: publisher, by: network)
        #expect(second.video.count >= counted + 48)
    }

    @Test("media use ICE-TCP if UDP is blocked, and UDP after the connection is lost")
    func iceTCP() throws {
        let network = VirtualNetwork(offersTCP: true)
        let publisher = try network.publish(.vp8)
        network.link.carriesUDP = false
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var path: NetworkPath?
        network.onSending = { bytes, sent in
            if bytes[0] >= 128, viewer.addresses.contains(sent.remote) { path = sent }
        }
        var broadcast = Broadcast(.vp8)
        broadcast.send(50, from: publisher, by: network)
        let connection = try #require(path)
        #expect(connection.transport != .udp)
        #expect(viewer.video.count >= 45)
        viewer.link.carriesUDP = true
        network.breakConnection(connection)
        broadcast.send(200, from: publisher, by: network)
        let counted = viewer.video.count
        broadcast.send(50, from: publisher, by: network)
        #expect(path != connection)
        #expect(viewer.video.count >= counted + 48)
        #expect(network.endedReason(of: viewer.id) == nil)
    }
}

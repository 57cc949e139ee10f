import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

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

@Suite("Table of peers by path")
struct PathTableTests {
    private static let local = TransportAddress("127.0.0.1:9")!

    private static func path(_ number: Int) -> NetworkPath {
        NetworkPath(local: local, remote: TransportAddress(ip: IPAddress(v4: UInt32(number)), port: 5_000))
    }

    private static func found(_ paths: [NetworkPath], in table: inout PathTable) -> [NetworkPath: PeerIndex] {
        var found: [NetworkPath: PeerIndex] = [:]
        paths.withUnsafeBufferPointer { paths in
            table.look(up: Span(_unsafeElements: paths)) { found[$0] = $1 }
        }
        return found
    }

    @Test("after any changes the table has the same contents as a dictionary", arguments: UInt64(1)...8)
    func changes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = PathTable()
        var wanted: [NetworkPath: PeerIndex] = [:]
        // Most paths are present while the table grows, and few while it shrinks.
        for step in 0..<6_000 {
            let path = Self.path(Int(random.next() % 400))
            if random.next() % 100 < (step / 1_500 % 2 == 0 ? 70 : 30) {
                table[path] = .viewer(step)
                wanted[path] = .viewer(step)
            } else if random.next() % 2 == 0 {
                #expect(table.removeValue(forKey: path) == wanted.removeValue(forKey: path))
            } else {
                table[path] = nil
                wanted[path] = nil
            }
            let other = Self.path(Int(random.next() % 400))
            #expect(table[other] == wanted[other] && table[path] == wanted[path])
            #expect(table.entries.count == wanted.count)
        }
        #expect(Self.found((0..<400).map(Self.path), in: &table) == wanted)
        for path in wanted.keys { table[path] = nil }
        #expect(table.entries.isEmpty)
        #expect(Self.found([Self.path(1)], in: &table).isEmpty)
    }

    @Test("paths with the same tag are distinguished")
    func tags() {
        let paths = (0..<330_000).map(Self.path)
        var table = PathTable()
        for index in stride(from: 0, to: paths.count, by: 2) { table[paths[index]] = .viewer(index) }
        let found = Self.found(paths, in: &table)
        #expect(found.count == paths.count / 2)
        #expect(found.allSatisfy { $0.value == table[$0.key] })
        #expect(stride(from: 0, to: paths.count, by: 2).allSatisfy { found[paths[$0]] == .viewer($0) })
        #expect(stride(from: 1, to: paths.count, by: 2).allSatisfy { table[paths[$0]] == nil })
    }

    @Test("paths that are looked up together are reported in order, as often as they are requested")
    func order() {
        var table = PathTable()
        for number in 0..<5 { table[Self.path(number)] = .publisher(number) }
        let paths = [4, 7, 0, 0, 3].map(Self.path)
        var peerIndices: [PeerIndex] = []
        paths.withUnsafeBufferPointer { paths in
            table.look(up: Span(_unsafeElements: paths)) { peerIndices.append($1) }
        }
        #expect(peerIndices == [4, 0, 0, 3].map { .publisher($0) })
    }
}

import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The assignment of datagrams to peers, without the peers themselves.
struct PeerTableTests {
    private let publisher = PeerIndex.publisher(0)
    private let viewer = PeerIndex.viewer(0)

    private func path(_ port: UInt16, tcp: Bool = false) -> NetworkPath {
        let remote = TransportAddress(ip: VirtualNetwork.relayAddress.ip, port: port)
        var path = NetworkPath(local: VirtualNetwork.relayAddress, remote: remote)
        if tcp { path.transport = .tcp(connection: UInt32(port)) }
        return path
    }

    private func table() -> PeerTable {
        var table = PeerTable()
        table.insert(PeerID(1), publisher, ufrag: "publisher")
        table.insert(PeerID(2), viewer, ufrag: "viewer")
        return table
    }

    private func changes(_ table: inout PeerTable) -> [PeerTable.PathChange] {
        var changes: [PeerTable.PathChange] = []
        while let change = table.pollChange() { changes.append(change) }
        return changes
    }

    private func request(_ recipient: String) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            var writer = STUNMessageWriter(
                .request, transactionID: STUNTransactionID(high: 1, low: 2),
                into: MutableByteView(buffer))
            writer.addUsername(recipient: Array(recipient.utf8), sender: Array("peer".utf8))
            count = writer.finish(key: Array("a-password-of-some-length".utf8))
        }
    }

    private func findPeer(of message: [UInt8], from path: NetworkPath, in table: inout PeerTable) -> PeerIndex? {
        var bytes = message
        return bytes.withMutableByteView { bytes in
            let datagram = ReceivedDatagram(bytes, from: path)
            let message = STUNMessage.parse(bytes.span)
            return table.findPeer(of: message, datagram)
        }
    }

    @Test("a check belongs to the peer whose ufrag it names, and a malformed one to the peer of its path")
    func checks() {
        var table = table()
        table.add(path: path(1), of: viewer) { _ in true }
        #expect(findPeer(of: request("publisher"), from: path(1), in: &table) == publisher)
        #expect(findPeer(of: request("viewer"), from: path(2), in: &table) == viewer)
        #expect(findPeer(of: request("nobody"), from: path(1), in: &table) == nil)
        #expect(findPeer(of: Array(request("publisher").dropLast()), from: path(1), in: &table) == viewer)
        #expect(findPeer(of: Array(request("publisher").dropLast()), from: path(2), in: &table) == nil)
    }

    @Test("after an ICE restart two ufrags of a peer are valid, and the oldest is removed with a third one")
    func ufrags() {
        var table = table()
        table.add(ufrag: "second", of: publisher)
        #expect(table.ufrags == ["publisher": publisher, "second": publisher, "viewer": viewer])
        table.add(ufrag: "third", of: publisher)
        #expect(table.ufrags == ["second": publisher, "third": publisher, "viewer": viewer])
    }

    @Test("a path belongs to the peer that passed the last check on it, also after its former peer has left")
    func takeover() {
        var table = table()
        table.add(path: path(1), of: publisher) { _ in true }
        table.add(path: path(1), of: viewer) { _ in true }
        #expect(changes(&table) == [.claim(.validated, path(1)), .claim(.validated, path(1))])
        table.remove(PeerID(1), publisher)
        #expect(table.findPeer(of: path(1)) == viewer && changes(&table).isEmpty)
        table.cede(path(1))
        #expect(table.findPeer(of: path(1)) == nil && changes(&table).isEmpty)
    }

    @Test("beyond the maximum, the paths that the agent does not know any more are removed, and connections closed")
    func stalePaths() {
        var table = table()
        let all = (0..<ICELiteAgent.maximumPaths).map { path(UInt16($0) + 1, tcp: $0 == 0) }
        for path in all { table.add(path: path, of: viewer) { _ in false } }
        #expect(changes(&table) == all.map { .claim(.validated, $0) })
        table.add(path: path(100), of: viewer) { $0 != all[0] && $0 != all[1] }
        #expect(
            changes(&table) == [
                .claim(.validated, path(100)), .claim(.left, all[0]), .unusedConnection(all[0]),
                .claim(.left, all[1]),
            ])
        #expect(table.paths.table.entries.count == ICELiteAgent.maximumPaths - 1)
    }

    @Test("a peer is checked on one path at a time")
    func probes() {
        var table = table()
        table.add(probe: path(1), of: viewer)
        table.add(probe: path(1), of: viewer)
        #expect(table.findPeer(of: path(1)) == viewer && changes(&table) == [.claim(.asked, path(1))])
        table.add(probe: path(2), of: viewer)
        #expect(table.probedPaths == [path(2): viewer])
        #expect(changes(&table) == [.claim(.left, path(1)), .claim(.asked, path(2))])
        // The other shards are not notified that a path has no peer while it has one.
        table.add(path: path(2), of: publisher) { _ in true }
        table.add(probe: path(3), of: viewer)
        #expect(changes(&table) == [.claim(.validated, path(2)), .claim(.asked, path(3))])
        #expect(table.findPeer(of: path(2)) == publisher)
    }

    @Test("the peer of a closed connection is returned once")
    func closedConnection() {
        var table = table()
        table.add(path: path(1, tcp: true), of: viewer) { _ in true }
        #expect(table.removeClosed(path(1, tcp: true)) == viewer && table.removeClosed(path(1, tcp: true)) == nil)
        _ = changes(&table)
        table.remove(PeerID(2), viewer)
        #expect(changes(&table).isEmpty)
    }

    @Test("the number of SSRCs of a peer and the number of peers of an SSRC are bounded")
    func sources() {
        var table = table()
        let count = UInt32(PeerKeys.maximumSources)
        for source in 1...count + 1 { table.add(source: source, of: viewer) }
        #expect(table.sources.candidates(count) == [viewer] && table.sources.candidates(count + 1).isEmpty)
        for number in 1...SourceIndex.maximumEntries {
            table.insert(PeerID(UInt64(100 + number)), .viewer(number), ufrag: "viewer\(number)")
            table.add(source: 1, of: .viewer(number))
        }
        #expect(table.sources.candidates(1).count == SourceIndex.maximumEntries)
    }

    @Test("all keys of a peer are removed with it")
    func removal() {
        var table = table()
        table.add(ufrag: "second", of: viewer)
        table.add(source: 7, of: viewer)
        table.add(path: path(1), of: viewer) { _ in true }
        table.add(probe: path(2), of: viewer)
        _ = changes(&table)
        table.remove(PeerID(2), viewer)
        #expect(changes(&table) == [.claim(.left, path(2)), .claim(.left, path(1))])
        #expect(table.indices == [PeerID(1): publisher] && table.ufrags == ["publisher": publisher])
        #expect(table.sources == SourceIndex() && table.probedPaths.isEmpty && table.paths.table.entries.isEmpty)
    }

    @Test("the budget for decryptions is 200 at once, and 1,000 per second")
    func migrationBudget() {
        var budget = MigrationBudget()
        let start = Instant(nanoseconds: 5_000_000_000)
        func take(_ count: Int, every interval: TimeSpan, from start: Instant, times: Int64) -> Int {
            (0..<times).count { budget.take(count, at: start + interval * $0) }
        }
        #expect(take(1, every: .zero, from: start, times: 1_000) == 200)
        #expect(take(2, every: .milliseconds(1), from: start + .milliseconds(1), times: 500) == 250)
        #expect(take(1, every: .zero, from: start + .seconds(10), times: 1_000) == 200)
    }
}

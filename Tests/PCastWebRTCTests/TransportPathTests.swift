import PCastCore
import PCastWebRTC
import Testing

/// The path of a transport, and its notification of a change.
struct TransportPathTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func path(tcp connection: UInt32? = nil) -> NetworkPath {
        NetworkPath(
            transport: connection.map { .tcp(connection: $0) } ?? .udp, local: ICENetwork.serverAddress,
            remote: ICENetwork.clientAddress)
    }

    private func server() -> SecureTransport {
        let agent = ICELiteAgent(local: ICENetwork.serverCredentials, remote: ICENetwork.clientCredentials)
        return SecureTransport(lite: agent, handshake: DTLSTestCertificates.ends().server, seed: 1)
    }

    /// Makes the client check a path.
    private func check(
        _ path: NetworkPath, nominating: Bool, at now: Instant, of transport: inout SecureTransport
    ) {
        let (local, remote) = (ICENetwork.serverCredentials, ICENetwork.clientCredentials)
        var bytes = stunMessage(.request, key: local.password) { writer in
            writer.addUsername(recipient: Array(local.ufrag.utf8), sender: Array(remote.ufrag.utf8))
            writer.addPriority(1)
            writer.addRole(.controlling(tieBreaker: 5))
            if nominating { writer.addUseCandidate() }
        }
        bytes.withMutableByteView { _ = transport.handle($0, from: path, at: now) }
    }

    /// Returns the events of a transport since the last call.
    private func news(of transport: inout SecureTransport) -> [SecureTransport.Event] {
        var news: [SecureTransport.Event] = []
        while let event = transport.pollEvent() { news.append(event) }
        return news
    }

    @Test("a closing connection in use is replaced by another path, which is a change like others")
    func fallsBack() {
        var transport = server()
        check(path(), nominating: false, at: start, of: &transport)
        let first = news(of: &transport)
        #expect(first == [.reachable], "the first path is not a change")
        check(path(tcp: 2), nominating: true, at: start, of: &transport)
        let nominated = news(of: &transport)
        #expect(nominated == [.pathChanged(path(tcp: 2))])
        transport.pathClosed(path(tcp: 2), at: start)
        let (left, closed) = (transport.path, news(of: &transport))
        #expect(left == path())
        #expect(closed == [.pathChanged(path())])
    }

    @Test("without another path the next one is a change, and the end of an unused one is not")
    func comesBack() {
        var transport = server()
        check(path(tcp: 1), nominating: true, at: start, of: &transport)
        transport.pathClosed(path(tcp: 9), at: start)
        transport.pathClosed(path(tcp: 1), at: start)
        let (left, closed) = (transport.path, news(of: &transport))
        #expect(left == nil)
        #expect(closed == [.reachable])
        check(path(tcp: 2), nominating: true, at: start + .seconds(1 as Int64), of: &transport)
        let nominated = news(of: &transport)
        #expect(nominated == [.pathChanged(path(tcp: 2))])
    }
}

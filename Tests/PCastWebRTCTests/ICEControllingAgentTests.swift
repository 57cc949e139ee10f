import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@Suite struct ICEControllingAgentTests {
    private let publicAddress = TransportAddress("203.0.113.7:61000")!

    private func connected(seed: UInt64 = 1) -> ICENetwork {
        var network = ICENetwork(seed: seed)
        network.mapping[ICENetwork.clientAddress] = publicAddress
        network.addServerCandidate()
        network.run(.milliseconds(100))
        return network
    }

    @Test("a join has one round trip: the first check nominates")
    func oneRoundTrip() {
        var network = ICENetwork()
        network.mapping[ICENetwork.clientAddress] = publicAddress
        network.addServerCandidate()
        network.run(.milliseconds(39))
        #expect(network.client.state == .checking && network.client.selectedPath == nil)
        #expect(network.server.selectedPath?.remote == publicAddress)
        network.run(.milliseconds(1))
        #expect(network.client.state == .connected && network.checks.count == 1)
        let path = NetworkPath(local: ICENetwork.clientAddress, remote: ICENetwork.serverAddress)
        #expect(network.client.selectedPath == path && network.clientSelections == [path])
        #expect(network.client.roundTrip == .milliseconds(40))
        #expect(network.client.reflexiveAddress == publicAddress)
        #expect(network.client.isValidated(path))
    }

    @Test("checks are 20 ms apart, by priority, and repeated after 100, 200, 400 ms")
    func pacing() {
        var network = ICENetwork()
        let addresses = (1...3).map { TransportAddress("192.0.2.\($0):8189")! }
        network.unreachable = Set(addresses)
        for (index, address) in addresses.enumerated() {
            let preference = UInt16(100 * (index + 1))
            network.client.addRemoteCandidate(.host(address, preference: preference), at: network.now)
        }
        let start = network.now
        network.run(.milliseconds(800))
        let times = network.checks.map { ($0.sent - start).nanoseconds / 1_000_000 }
        #expect(times == [0, 20, 40, 100, 120, 140, 300, 320, 340, 700, 720, 740])
        #expect(network.checks.map(\.path.remote) == (0..<4).flatMap { _ in addresses.reversed() })
        network.run(.milliseconds(20_000))
        #expect(network.client.state == .failed && network.checks.count == 54)
        #expect(network.client.deadline == nil)
    }

    @Test("with 30 % loss each way each of 50 clients connects within five seconds")
    func loss() {
        for seed in 1...50 as ClosedRange<UInt64> {
            var network = ICENetwork(seed: seed)
            network.lossPercent = 30
            network.addServerCandidate()
            network.run(.milliseconds(5_000))
            #expect(network.client.state == .connected, "seed \(seed)")
        }
    }

    @Test("both sides select the same path if several work")
    func agreement() {
        var network = ICENetwork(addresses: [ICENetwork.clientAddress, TransportAddress("10.0.0.3:5000")!])
        network.addServerCandidate()
        network.addServerCandidate(TransportAddress("192.0.2.11:8189")!)
        network.run(.milliseconds(300))
        #expect(network.clientSelections.count == 1)
        #expect(network.server.selectedPath?.local == network.client.selectedPath?.remote)
        #expect(network.server.selectedPath?.remote == network.client.selectedPath?.local)
    }

    @Test("a stable pair is checked every 2 to 3 s, which keeps a server's consent")
    func keepalive() {
        var network = connected()
        let before = network.checks.count
        network.run(.milliseconds(60_000))
        let sent = network.checks[before...].map(\.sent)
        #expect((20...30).contains(sent.count))
        for (earlier, later) in zip(sent, sent.dropFirst()) {
            #expect((2_000...3_041).contains((later - earlier).nanoseconds / 1_000_000))
        }
        #expect(network.client.state == .connected && !network.server.isAway(at: network.now))
        #expect(network.clientSelections.count == 1)
    }

    @Test("after 300 ms of silence the pair is checked, which detects a NAT rebinding at once")
    func checksPairAfterSilence() {
        var network = connected()
        network.run(.milliseconds(200))
        let quiet = network.checks.count
        network.client.noteReceived(at: network.now)
        network.client.expectsMedia = true
        let rebound = TransportAddress("203.0.113.7:62000")!
        network.mapping[ICENetwork.clientAddress] = rebound
        network.run(.milliseconds(299))
        #expect(network.checks.count == quiet)
        network.run(.milliseconds(42))
        #expect(network.checks.count == quiet + 1)
        #expect(network.server.selectedPath?.remote == rebound && network.client.reflexiveAddress == rebound)
        #expect(network.client.state == .connected && network.clientSelections.count == 1)
    }

    @Test("a silent server is disconnected after 5 s and failed after 30 s, and any packet before that reconnects it")
    func consentTimeouts() {
        var network = connected()
        network.unreachable = [ICENetwork.serverAddress]
        network.run(.milliseconds(8_000))
        #expect(network.client.state == .disconnected)
        network.unreachable = []
        network.run(.milliseconds(2_000))
        #expect(network.client.state == .connected)
        network.unreachable = [ICENetwork.serverAddress]
        network.run(.milliseconds(27_000))
        #expect(network.client.state == .disconnected)
        network.run(.milliseconds(4_000))
        #expect(network.client.state == .failed && network.client.deadline == nil)
    }

    @Test("the peer's requests keep a pair alive whose checks are not answered")
    func peerRequestsKeepPairAlive() {
        var network = connected()
        network.isServerMute = true
        let path = network.client.selectedPath!
        let (client, server) = (ICENetwork.clientCredentials, ICENetwork.serverCredentials)
        for number in 0..<60 as Range<UInt64> {
            network.run(.milliseconds(1_000))
            let request = stunMessage(.request, number, key: client.password) { writer in
                writer.addUsername(recipient: Array(client.ufrag.utf8), sender: Array(server.ufrag.utf8))
                writer.addRole(.controlled(tieBreaker: 1))
            }
            let (outcome, reply) = network.client.handleMessage(request, from: path, at: network.now)
            #expect(outcome.isAuthenticated && parsedSTUN(reply)?.mappedAddress == path.remote)
        }
        #expect(network.client.state == .connected && network.client.selectedPath == path)
    }

    @Test("another pair replaces a selected one that fails")
    func takeover() {
        var network = connected()
        let spare = TransportAddress("192.0.2.11:8189")!
        network.addServerCandidate(spare)
        network.run(.milliseconds(100))
        #expect(network.client.selectedPath?.remote == ICENetwork.serverAddress)
        network.client.expectsMedia = true
        network.client.noteReceived(at: network.now)
        network.unreachable = [ICENetwork.serverAddress]
        network.run(.milliseconds(1_200))
        #expect(network.client.selectedPath?.remote == spare && network.server.selectedPath?.local == spare)
        #expect(network.client.state == .connected)
    }

    @Test("after error 487 the agent takes the other role, and the larger tie-breaker keeps its own")
    func resolvesRoleConflict() throws {
        var network = ICENetwork()
        network.addServerCandidate()
        let polled = network.client.pollMessage(at: network.now)
        let (bytes, path) = try #require(polled)
        let check = try #require(parsedSTUN(bytes))
        #expect(check.role == .controlling(tieBreaker: 99) && check.usesCandidate)
        let conflict = { (password: String) in
            [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
                let memory = MutableByteView(buffer)
                var writer = STUNMessageWriter(.error, transactionID: check.transactionID, into: memory)
                writer.addErrorCode(487)
                count = writer.finish(key: Array(password.utf8))
            }
        }
        let forged = conflict(ICENetwork.clientCredentials.password)
        let refused = network.client.handleMessage(forged, from: path, at: network.now).outcome
        #expect(refused.rejection == .unauthenticated)
        let answer = conflict(ICENetwork.serverCredentials.password)
        let outcome = network.client.handleMessage(answer, from: path, at: network.now).outcome
        #expect(outcome.rejection == .roleConflict)
        let later = network.now + .milliseconds(20)
        let repeated = network.client.pollMessage(at: later)
        let second = try #require(repeated)
        let changed = try #require(parsedSTUN(second.bytes))
        #expect(changed.role == .controlled(tieBreaker: 99) && !changed.usesCandidate)
        #expect(changed.transactionID != check.transactionID)
    }

    @Test("of two controlling agents the one with the larger tie-breaker answers 487, and the other switches")
    func tieBreakers() {
        let (client, server) = (ICENetwork.clientCredentials, ICENetwork.serverCredentials)
        let path = NetworkPath(local: ICENetwork.clientAddress, remote: ICENetwork.serverAddress)
        for (theirs, isRefused) in [(98, true), (99, true), (100, false)] as [(UInt64, Bool)] {
            var network = ICENetwork()
            network.addServerCandidate()
            let request = stunMessage(.request, key: client.password) { writer in
                writer.addUsername(recipient: Array(client.ufrag.utf8), sender: Array(server.ufrag.utf8))
                writer.addRole(.controlling(tieBreaker: theirs))
            }
            let (outcome, reply) = network.client.handleMessage(request, from: path, at: network.now)
            #expect((outcome.rejection == .roleConflict) == isRefused)
            #expect(parsedSTUN(reply)?.errorCode == (isRefused ? 487 : nil))
        }
    }

    @Test("responses and requests that are not authentic change nothing")
    func ignoresForgedMessages() throws {
        var network = ICENetwork()
        network.addServerCandidate()
        let polled = network.client.pollMessage(at: network.now)
        let (bytes, path) = try #require(polled)
        let identifier = try #require(parsedSTUN(bytes)).transactionID
        let forged = [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
            var writer = STUNMessageWriter(
                .success, transactionID: identifier, into: MutableByteView(buffer))
            count = writer.finish(key: nil)
        }
        let outcome = network.client.handleMessage(forged, from: path, at: network.now).outcome
        #expect(outcome.rejection == .unauthenticated && network.client.state == .checking)
        let unknownPeer = stunMessage(.request, key: "not-the-password-of-us") { writer in
            writer.addUsername(recipient: Array("cLnT".utf8), sender: Array("abcd".utf8))
        }
        let (refusal, reply) = network.client.handleMessage(unknownPeer, from: path, at: network.now)
        #expect(refusal.rejection == .unauthenticated && reply.count <= unknownPeer.count)
        #expect(!network.client.isValidated(path))
    }

    @Test("a restart changes to the new credentials without a gap in the selected pair")
    func restartKeepsSelectedPair() {
        var network = connected()
        var generator = SeededGenerator(seed: 12)
        let (client, server) = (
            ICECredentials.random(using: &generator), ICECredentials.random(ufragLength: 32, using: &generator)
        )
        network.client.restart(local: client, remote: server, at: network.now)
        #expect(network.client.selectedPath?.remote == ICENetwork.serverAddress && network.client.state == .connected)
        network.run(.milliseconds(50))
        network.server.restart(local: server, remote: client)
        network.run(.milliseconds(300))
        #expect(network.client.selectedPath?.remote == ICENetwork.serverAddress && network.client.state == .connected)
        let before = network.server.lastAuthenticated!
        network.run(.milliseconds(4_000))
        #expect(network.server.lastAuthenticated! > before, "the new credentials are in use")
        #expect(network.client.local == client && !network.server.isAway(at: network.now))
    }

    @Test("a failed agent checks again after a restart")
    func restartAfterFailure() {
        var network = connected()
        network.unreachable = [ICENetwork.serverAddress]
        network.run(.milliseconds(40_000))
        #expect(network.client.state == .failed)
        network.unreachable = []
        network.client.restart(
            local: ICENetwork.clientCredentials, remote: ICENetwork.serverCredentials, at: network.now)
        network.run(.milliseconds(100))
        #expect(network.client.state == .connected)
    }

    @Test("connections are opened when UDP has failed for 500 ms, and closed when they are not needed")
    func tcpFallback() {
        var network = ICENetwork()
        network.unreachable = [ICENetwork.serverAddress]
        network.addServerCandidate()
        let stream = TransportAddress("192.0.2.10:443")!
        for type in [ICECandidate.TCPType.passive, .active] {
            network.client.addRemoteCandidate(.host(stream, transport: .tcp(type)), at: network.now)
        }
        network.run(.milliseconds(499))
        #expect(network.client.pollConnection() == nil)
        network.run(.milliseconds(1))
        #expect(network.client.pollConnection() == stream)
        #expect(network.client.pollConnection() == nil)
        let path = NetworkPath(
            transport: .tcp(connection: 4), local: TransportAddress("10.0.0.2:7777")!, remote: stream)
        network.client.connectionOpened(path, at: network.now)
        network.run(.milliseconds(100))
        #expect(network.client.selectedPath == path && network.client.state == .connected)
        network.client.pathClosed(path, at: network.now)
        #expect(network.client.state == .disconnected && network.client.selectedPath == nil)
        network.unreachable = []
        network.run(.milliseconds(100))
        #expect(network.client.selectedPath?.remote == ICENetwork.serverAddress)
        let late = NetworkPath(transport: .tcp(connection: 5), local: path.local, remote: stream)
        network.client.connectionOpened(late, at: network.now)
        #expect(network.client.takePathToClose() == late)
        #expect(network.client.takePathToClose() == nil)
    }

    @Test("the number of candidates and pairs is limited, and duplicates are one")
    func bounds() {
        var network = ICENetwork(addresses: (1...20).map { TransportAddress("10.0.0.\($0):5000")! })
        for _ in 0..<2 {
            for port in 1...200 as ClosedRange<UInt16> {
                network.addServerCandidate(TransportAddress(ip: IPAddress("192.0.2.1")!, port: port))
            }
        }
        network.lossPercent = 100
        network.run(.milliseconds(2_000))
        let paths = Set(network.checks.map(\.path))
        #expect(paths.count == ICEControllingAgent.maximumPairs)
        #expect(Set(paths.map(\.local)).count == ICEControllingAgent.maximumLocalAddresses)
    }

    @Test("a network that appears later is tried at once")
    func laterNetwork() {
        var network = ICENetwork(addresses: [])
        network.addServerCandidate()
        network.run(.milliseconds(500))
        #expect(network.checks.isEmpty)
        network.client.setLocalAddresses([ICENetwork.clientAddress], at: network.now)
        network.run(.milliseconds(40))
        #expect(network.client.state == .connected)
    }

    @Test("the server's check after a NAT rebinding is answered, and moves its path without a client's check")
    func answersServerCheckAfterRebinding() {
        var network = connected()
        let rebound = TransportAddress("203.0.113.7:62000")!
        network.mapping[ICENetwork.clientAddress] = rebound
        let path = NetworkPath(local: ICENetwork.serverAddress, remote: rebound)
        var generator = SeededGenerator(seed: 7)
        let probe = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            let memory = MutableByteView(buffer)
            count = network.server.probe(path, at: network.now, into: memory, using: &generator)
        }
        network.sendToClient(probe, path)
        let before = network.checks.count
        network.run(.milliseconds(40))
        #expect(network.server.selectedPath == path && network.serverSelections.last == path)
        #expect(network.checks.count == before && network.client.state == .connected)
    }

    @Test("a socket on the wildcard address learns its own address from the response")
    func unspecifiedBase() {
        var network = ICENetwork(addresses: [TransportAddress(ip: .anyV4, port: 5000)])
        network.mapping[ICENetwork.clientAddress] = TransportAddress(ip: .anyV4, port: 5000)
        network.addServerCandidate()
        network.run(.milliseconds(100))
        #expect(network.client.selectedPath?.local == ICENetwork.clientAddress)
        #expect(network.clientSelections.count == 1 && network.client.state == .connected)
    }

    @Test("the same seed gives the same run")
    func reproducible() {
        let runs = (0..<2).map { _ in
            var network = ICENetwork(seed: 3)
            network.lossPercent = 20
            network.addServerCandidate()
            network.run(.milliseconds(30_000))
            return network.checks.map(\.sent)
        }
        #expect(runs[0] == runs[1] && runs[0].count > 10)
    }
}

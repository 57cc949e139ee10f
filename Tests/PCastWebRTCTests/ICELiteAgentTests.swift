import COpenSSL
import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@Suite struct ICELiteAgentTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let server = ICENetwork.serverCredentials
    private let client = ICENetwork.clientCredentials

    private func agent() -> ICELiteAgent { ICELiteAgent(local: server, remote: client) }

    private func path(_ port: UInt16 = 5000, tcp connection: UInt32? = nil) -> NetworkPath {
        NetworkPath(
            transport: connection.map { .tcp(connection: $0) } ?? .udp, local: ICENetwork.serverAddress,
            remote: TransportAddress(ip: IPAddress("203.0.113.7")!, port: port))
    }

    private func check(
        nominating: Bool = true, local: ICECredentials? = nil, remote: ICECredentials? = nil,
        role: STUNMessage.Role = .controlling(tieBreaker: 5), extra: (inout STUNMessageWriter) -> Void = { _ in }
    ) -> [UInt8] {
        let (local, remote) = (local ?? server, remote ?? client)
        return stunMessage(.request, key: local.password) { writer in
            writer.addUsername(recipient: Array(local.ufrag.utf8), sender: Array(remote.ufrag.utf8))
            writer.addPriority(1)
            writer.addRole(role)
            if nominating { writer.addUseCandidate() }
            extra(&writer)
        }
    }

    @Test("an authenticated check is answered with its source address, by the local password")
    func answers() throws {
        var agent = agent()
        let (outcome, reply) = agent.handleMessage(check(), from: path(), at: start)
        #expect(outcome.isAuthenticated && outcome.isNomination && outcome.newlySelectedPath == path())
        let answer = try #require(parsedSTUN(reply))
        #expect(answer.messageClass == .success && answer.transactionID == STUNTransactionID(high: 1, low: 7))
        #expect(answer.mappedAddress == path().remote && answer.fingerprint == .valid)
        #expect(answer.verify(reply, key: Array(server.password.utf8)))
        #expect(agent.handleMessage(check(), from: path(), at: start).outcome.newlySelectedPath == nil)
    }

    @Test("no response is larger than its request, also for IPv6 and for any content")
    func noAmplification() throws {
        let remotes = ["203.0.113.7:5000", "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"]
        let key = server.password
        let requests = [
            check(), check(nominating: false), check(role: .controlled(tieBreaker: 5)),
            check(local: ICECredentials(ufrag: server.ufrag, password: String(repeating: "x", count: 24))),
            // Only the attributes of authentication, and fewer.
            stunMessage(.request, key: key) { writer in
                writer.addUsername(recipient: Array(server.ufrag.utf8), sender: Array(client.ufrag.utf8))
            },
            stunMessage(.request, key: key) { _ in },
        ]
        for remote in remotes {
            let path = NetworkPath(local: ICENetwork.serverAddress, remote: try #require(TransportAddress(remote)))
            for request in requests {
                var agent = agent()
                let reply = agent.handleMessage(request, from: path, at: start).reply
                #expect(reply.count <= request.count, "\(reply.count) for \(request.count) of \(remote)")
            }
            // Regular checks have space for the response.
            var agent = agent()
            #expect(!agent.handleMessage(check(), from: path, at: start).reply.isEmpty)
        }
    }

    @Test("the latest authenticated nomination is followed, also back to an earlier path")
    func latestNomination() {
        var agent = agent()
        for port in [5000, 5001, 5000, 5002] as [UInt16] {
            let outcome = agent.handleMessage(check(), from: path(port), at: start).outcome
            #expect(outcome.newlySelectedPath == path(port) && agent.selectedPath == path(port))
        }
        _ = agent.handleMessage(check(nominating: false), from: path(5001), at: start)
        #expect(agent.selectedPath == path(5002))
    }

    @Test("every path of an authenticated check is valid, up to eight, and the selected one is kept")
    func validatedPathLimit() {
        var agent = agent()
        #expect(!agent.isValidated(path(1)) && agent.sendingPath == nil)
        _ = agent.handleMessage(check(), from: path(1), at: start)
        for port in 2...20 as ClosedRange<UInt16> {
            let now = start + .milliseconds(Int64(port))
            _ = agent.handleMessage(check(nominating: false), from: path(port), at: now)
            #expect(agent.isValidated(path(port)))
        }
        #expect((1...20).filter { agent.isValidated(path(UInt16($0))) } == [1, 14, 15, 16, 17, 18, 19, 20])
        #expect(agent.sendingPath == path(1))
        #expect(!agent.isValidated(path(1, tcp: 3)))
    }

    @Test("a silent peer is away after 5 s and gone after 30 s, and SRTCP ends the silence")
    func consentTimeouts() {
        var agent = agent()
        _ = agent.handleMessage(check(), from: path(), at: start)
        #expect(agent.deadline(after: start) == start + .milliseconds(5_000))
        #expect(!agent.isAway(at: start + .milliseconds(4999)) && agent.isAway(at: start + .milliseconds(5_000)))
        agent.noteAuthenticated(path: path(), at: start + .milliseconds(6_000))
        let last = start + .milliseconds(6_000)
        #expect(!agent.isAway(at: last + .milliseconds(1_000)) && agent.isAway(at: last + .milliseconds(5_000)))
        #expect(agent.deadline(after: last + .milliseconds(5_000)) == last + .milliseconds(30_000))
        #expect(
            !agent.hasExpired(at: last + .milliseconds(29_999)) && agent.hasExpired(at: last + .milliseconds(30_000)))
        #expect(agent.deadline(after: last + .milliseconds(30_000)) == nil)
    }

    @Test("consent starts at the first success, and the setup deadline counts until then")
    func consentStartsAtFirstSuccess() {
        var agent = ICELiteAgent(local: server, remote: client, setupDeadline: start + .milliseconds(60_000))
        agent.noteAuthenticated(path: path(), at: start)
        #expect(agent.lastAuthenticated == nil && !agent.isAway(at: start + .milliseconds(59_000)))
        #expect(
            !agent.hasExpired(at: start + .milliseconds(59_000)) && agent.hasExpired(at: start + .milliseconds(60_000)))
        #expect(agent.deadline(after: start) == start + .milliseconds(60_000))
        let first = start + .milliseconds(50_000)
        _ = agent.handleMessage(check(), from: path(), at: first)
        #expect(
            !agent.hasExpired(at: start + .milliseconds(79_000)) && agent.hasExpired(at: start + .milliseconds(80_000)))
        var deferred = ICELiteAgent(local: server)
        #expect(!deferred.hasExpired(at: start + .milliseconds(100_000_000)))
        #expect(deferred.deadline(after: start) == nil)
    }

    @Test("a controlled peer receives 487, and that check does not validate it")
    func rejectsRoleConflict() throws {
        var agent = agent()
        let bytes = check(role: .controlled(tieBreaker: .max))
        let (outcome, reply) = agent.handleMessage(bytes, from: path(), at: start)
        let answer = try #require(parsedSTUN(reply))
        #expect(outcome.rejection == .roleConflict && answer.errorCode == 487)
        #expect(answer.verify(reply, key: Array(server.password.utf8)))
        #expect(!agent.isValidated(path()) && agent.selectedPath == nil)
    }

    @Test("SRTCP from a new address is answered with one check, and the path moves when that is answered")
    func checksNewAddressOfSRTCP() throws {
        var agent = agent()
        var generator = SeededGenerator(seed: 4)
        let probe = { (agent: inout ICELiteAgent, path: NetworkPath, now: Instant) in
            [UInt8](capacity: 2048) { (buffer: MutableByteView) in
                agent.probe(path, at: now, into: buffer, using: &generator)
            }
        }
        #expect(probe(&agent, path(2), start).isEmpty, "before the first check there is no peer to probe")
        _ = agent.handleMessage(check(), from: path(1), at: start)
        #expect(probe(&agent, path(1), start).isEmpty, "the selected path needs no probe")
        let bytes = probe(&agent, path(2), start)
        let request = try #require(parsedSTUN(bytes))
        #expect(request.recipient(bytes) == client.ufrag && request.verify(bytes, key: Array(client.password.utf8)))
        #expect(probe(&agent, path(2), start + .milliseconds(100)).isEmpty, "one probe at a time")
        let again = probe(&agent, path(2), start + .milliseconds(300))
        #expect(parsedSTUN(again)?.transactionID == request.transactionID, "a late response is accepted")

        let identifier = request.transactionID
        let answer = { (key: String) in
            [UInt8](unsafeUninitializedCapacity: 2048) { buffer, count in
                let memory = MutableByteView(buffer)
                var writer = STUNMessageWriter(.success, transactionID: identifier, into: memory)
                count = writer.finish(key: Array(key.utf8))
            }
        }
        let forged = agent.handleMessage(answer(server.password), from: path(2), at: start).outcome
        #expect(forged.rejection == .unauthenticated && agent.selectedPath == path(1))
        let astray = agent.handleMessage(answer(client.password), from: path(3), at: start).outcome
        #expect(astray.rejection == .unexpectedAnswer && agent.selectedPath == path(1))
        let outcome = agent.handleMessage(answer(client.password), from: path(2), at: start).outcome
        #expect(outcome.newlySelectedPath == path(2) && agent.selectedPath == path(2) && agent.isValidated(path(2)))
    }

    /// Returns a check that contains `attribute`, signed by OpenSSL.
    private static func signed(_ attribute: [UInt8], _ local: ICECredentials, _ remote: ICECredentials) -> [UInt8] {
        var bytes = stunMessage(.request) { writer in
            writer.addUsername(recipient: Array(local.ufrag.utf8), sender: Array(remote.ufrag.utf8))
        }
        bytes.removeLast(8)
        bytes += attribute
        bytes[3] = UInt8(bytes.count - 20 + 24)
        let key = Array(local.password.utf8)
        var code = [UInt8](repeating: 0, count: 20)
        _ = HMAC(EVP_sha1(), key, Int32(key.count), bytes, bytes.count, &code, nil)
        return bytes + [0x00, 0x08, 0, 20] + code
    }

    @Test("unknown attributes below 0x8000 are answered with 420, and indications are not answered")
    func unknownAttributesAndIndications() throws {
        var agent = agent()
        let unknown = Self.signed([0x00, 0x33, 0, 0], server, client)
        let (outcome, reply) = agent.handleMessage(unknown, from: path(), at: start)
        #expect(outcome.rejection == .unknownAttributes && parsedSTUN(reply)?.errorCode == 420)
        // UNKNOWN-ATTRIBUTES with the one type, padded.
        #expect(Array(reply[28..<36]) == [0x00, 0x0A, 0, 2, 0x00, 0x33, 0, 0])
        let ignored = Self.signed([0xC0, 0x57, 0, 0], server, client)
        #expect(agent.handleMessage(ignored, from: path(), at: start).outcome.isAuthenticated)
        let indication = stunMessage(.indication)
        let silent = agent.handleMessage(indication, from: path(), at: start)
        #expect(silent.reply.isEmpty && silent.outcome.rejection == nil && !silent.outcome.isAuthenticated)
    }

    @Test("a flood without the password receives no larger responses and changes nothing")
    func unauthenticatedFlood() throws {
        var agent = agent()
        let wrongPassword = check(local: ICECredentials(ufrag: server.ufrag, password: client.password))
        let wrongUfrag = check(local: ICECredentials(ufrag: "other", password: server.password))
        let wrongSender = check(remote: ICECredentials(ufrag: "other", password: server.password))
        for bytes in [wrongPassword, wrongUfrag, wrongSender] {
            let (outcome, reply) = agent.handleMessage(bytes, from: path(), at: start)
            #expect(outcome.rejection == .unauthenticated && !outcome.isAuthenticated)
            #expect(reply.count <= bytes.count && parsedSTUN(reply)?.errorCode == 401)
        }
        let bare = stunMessage(.request)
        let (outcome, reply) = agent.handleMessage(bare, from: path(), at: start)
        #expect(outcome.rejection == .badRequest && reply.isEmpty && bare.count == 28)
        let named = stunMessage(.request) { $0.addUsername(recipient: [1, 2, 3, 4], sender: [1, 2, 3, 4]) }
        let second = agent.handleMessage(named, from: path(), at: start).reply
        #expect(parsedSTUN(second)?.errorCode == 400 && second.count <= named.count)
        var broken = check()
        broken[broken.count - 1] ^= 1
        let third = agent.handleMessage(broken, from: path(), at: start)
        #expect(third.outcome.rejection == .badFingerprint && third.reply.isEmpty)
        #expect(agent.selectedPath == nil && !agent.isValidated(path()) && agent.lastAuthenticated == nil)
    }

    @Test("after a restart both credentials are valid until the new ones nominate")
    func restartKeepsBothCredentials() {
        var agent = agent()
        _ = agent.handleMessage(check(), from: path(1), at: start)
        let (newServer, newClient) = (
            ICECredentials(ufrag: "newServer", password: "new-server-password-new"),
            ICECredentials(ufrag: "newClient", password: "new-client-password-new")
        )
        agent.restart(local: newServer!, remote: newClient)
        #expect(agent.selectedPath == path(1))
        let old = agent.handleMessage(check(), from: path(1), at: start + .milliseconds(1_000))
        #expect(old.outcome.isAuthenticated)
        #expect(parsedSTUN(old.reply)?.verify(old.reply, key: Array(server.password.utf8)) == true)
        let unready = check(nominating: false, local: newServer, remote: newClient)
        #expect(agent.handleMessage(unready, from: path(2), at: start).outcome.isAuthenticated)
        #expect(agent.handleMessage(check(), from: path(1), at: start).outcome.isAuthenticated)
        let ready = agent.handleMessage(check(local: newServer, remote: newClient), from: path(2), at: start)
        #expect(ready.outcome.newlySelectedPath == path(2))
        #expect(!agent.handleMessage(check(), from: path(1), at: start).outcome.isAuthenticated)
        #expect(agent.isValidated(path(1)), "media in flight still arrives")
    }

    @Test("on one 5-tuple the ufrag distinguishes a reloaded page from the previous one")
    func sameTupleOtherUfrag() throws {
        var dead = agent()
        _ = dead.handleMessage(check(), from: path(), at: start)
        let reborn = try #require(ICECredentials(ufrag: "reborn", password: "reborn-password-reborn+/"))
        var alive = ICELiteAgent(local: reborn)
        let bytes = check(local: reborn)
        #expect(parsedSTUN(bytes)?.recipient(bytes) == "reborn")
        #expect(!dead.handleMessage(bytes, from: path(), at: start).outcome.isAuthenticated)
        #expect(alive.handleMessage(bytes, from: path(), at: start).outcome.newlySelectedPath == path())
    }

    @Test("several connections are kept, and unused ones are closed after a nomination")
    func closesUnusedConnections() {
        var agent = agent()
        for connection in 1...3 as ClosedRange<UInt32> {
            _ = agent.handleMessage(check(nominating: false), from: path(9, tcp: connection), at: start)
        }
        let later = start + .milliseconds(20_000)
        #expect(agent.takePathToClose(at: later) == nil, "nothing is nominated yet")
        _ = agent.handleMessage(check(), from: path(9, tcp: 2), at: later)
        #expect(agent.takePathToClose(at: later) == path(9, tcp: 1))
        #expect(agent.takePathToClose(at: later) == path(9, tcp: 3))
        #expect(agent.takePathToClose(at: later) == nil && agent.isValidated(path(9, tcp: 2)))
        _ = agent.handleMessage(check(), from: path(1), at: later)
        #expect(agent.takePathToClose(at: later) == nil, "the previous path may be used again")
        #expect(agent.deadline(after: later + .milliseconds(6_000)) == later + .milliseconds(10_000))
        #expect(agent.takePathToClose(at: later + .milliseconds(10_000)) == path(9, tcp: 2))
    }

    @Test("a closed connection that was selected is replaced by the most recent path")
    func closedConnection() {
        var agent = agent()
        _ = agent.handleMessage(check(nominating: false), from: path(1), at: start)
        _ = agent.handleMessage(check(), from: path(9, tcp: 2), at: start)
        agent.pathClosed(path(9, tcp: 2))
        #expect(agent.selectedPath == nil && agent.sendingPath == path(1) && !agent.isValidated(path(9, tcp: 2)))
    }

    @Test("checks that arrive before the peer's description are accepted by the local password alone")
    func earlyChecks() {
        var agent = ICELiteAgent(local: server)
        #expect(agent.handleMessage(check(), from: path(), at: start).outcome.isAuthenticated)
        agent.remote = ICECredentials(ufrag: "someone", password: client.password)
        #expect(!agent.handleMessage(check(), from: path(), at: start).outcome.isAuthenticated)
    }
}

import COpenSSL
import CSRTP
import Glibc
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// Events after the handshake: lost last flights, alerts, close_notify.
struct DTLSAfterHandshakeTests {
    /// Returns two connected ends. If `isSettled` is true, each knows that the other has the keys.
    private func established(
        isSettled: Bool = false
    ) -> (client: OpenSSLHandshake, server: OpenSSLHandshake, now: Instant) {
        let ends = DTLSTestCertificates.ends()
        var network = DTLSNetwork(client: ends.client, server: ends.server)
        network.run()
        if isSettled {
            ends.client.releaseResources()
            ends.server.releaseResources()
        }
        return (ends.client, ends.server, network.now)
    }

    @Test("a server whose last flight is lost repeats it when the client repeats its own")
    func repeatsLastFlight() {
        let ends = DTLSTestCertificates.ends()
        var network = DTLSNetwork(client: ends.client, server: ends.server)
        var lost: [[UInt8]] = []
        let server = ends.server
        network.alter = { datagram, toServer in
            guard !toServer, server.keys != nil, lost.count < 3 else { return [datagram] }
            lost.append(datagram)
            return []
        }
        network.run()
        #expect(lost.count == 3)
        #expect(ends.client.keys != nil)
        #expect(ends.server.keys != nil)
    }

    @Test(
        "a server whose last flight is lost answers the client's first retransmission, also soon after a duplicate",
        arguments: [false, true])
    func answersFirstRetransmission(_ isDuplicated: Bool) throws {
        let (client, server) = DTLSTestCertificates.ends()
        let now = Instant(nanoseconds: 5_000_000_000)
        client.start(at: now)
        server.start(at: now)
        var flight: [[UInt8]] = []
        for _ in 0..<10 where server.keys == nil {
            for datagram in server.datagrams() { client.receive(datagram, at: now) }
            flight = client.datagrams()
            for datagram in flight { server.receive(datagram, at: now) }
        }
        #expect(server.keys != nil && client.keys == nil)
        #expect(!server.datagrams().isEmpty, "this flight is lost")
        if isDuplicated {
            // The network delivers the client's flight twice.
            for datagram in flight { server.receive(datagram, at: now + .milliseconds(10)) }
            #expect(!server.datagrams().isEmpty, "this copy is lost too")
        }
        let due = try #require(client.deadline)
        #expect(due - now == .milliseconds(50))
        client.advance(to: due)
        for datagram in client.datagrams() { server.receive(datagram, at: due) }
        for datagram in server.datagrams() { client.receive(datagram, at: due) }
        #expect(client.keys != nil)
    }

    @Test(
        "two finished ends do not answer each other endlessly, but a late record is answered",
        arguments: [false, true])
    func silence(_ isSettled: Bool) {
        let (client, server, now) = established(isSettled: isSettled)
        let late: [UInt8] = [22, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 9, 0, 1, 0]
        server.receive(late, at: now + .milliseconds(60))
        let answer = server.datagrams()
        #expect(!answer.isEmpty)
        for datagram in answer { client.receive(datagram, at: now) }
        #expect(client.datagrams().isEmpty)
        #expect(client.deadline == nil && server.deadline == nil)
    }

    @Test("late records are answered at most once in 25 ms, and malformed ones never", arguments: [false, true])
    func lateRate(_ isSettled: Bool) {
        let (_, server, end) = established(isSettled: isSettled)
        let late: [UInt8] = [22, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 9, 0, 1, 0]
        let malformed: [[UInt8]] = [
            Array(late[..<13]), [22, 0xFE, 0xFD, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            [22, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 9, 0, 2, 0], [22, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0],
            [22, 0xFE, 0xFD, 0, 2, 0, 0, 0, 0, 0, 9, 0, 1, 0], [22, 3, 3, 0, 1, 0, 0, 0, 0, 0, 9, 0, 1, 0],
        ]
        let now = end + .seconds(1)
        for datagram in malformed { server.receive(datagram, at: now) }
        #expect(server.datagrams().isEmpty)
        server.receive(late, at: now)
        let flight = server.datagrams().count
        #expect(flight > 0)
        for millisecond in 0..<25 { server.receive(late, at: now + .milliseconds(Int64(millisecond))) }
        #expect(server.datagrams().isEmpty)
        server.receive(late, at: now + .milliseconds(25))
        #expect(server.datagrams().count == flight)
    }

    @Test("a server that drops replayed records and lost its last flight still finishes with the project's client")
    func foreignServer() {
        let client = DTLSTestCertificates.ends().client
        let server = DTLSForeignPeer(.server, certificate: DTLSTestCertificates.server)
        var network = DTLSNetwork(client: client, server: server)
        var lost = 0
        network.alter = { datagram, toServer in
            // OpenSSL's timer uses real time, which has to elapse while virtual time does.
            if toServer { awaitRealTime(.milliseconds(25)) }
            guard !toServer, server.isFinished, lost < 2 else { return [datagram] }
            lost += 1
            return []
        }
        network.run()
        #expect(lost == 2)
        #expect(client.keys != nil)
    }

    @Test(
        "an unencrypted alert after the handshake has no effect",
        arguments: [0, 40] as [UInt8], [false, true])
    func unencryptedAlert(_ description: UInt8, _ isSettled: Bool) {
        let (client, server, now) = established(isSettled: isSettled)
        for end in [client, server] {
            end.receive([21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 50, 0, 2, 2, description], at: now)
            end.receive([21, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 50, 0, 2, 2, description], at: now)
            #expect(end.keys != nil)
        }
    }

    @Test(
        "close_notify closes the other end, in either direction, with or without an SSL object",
        arguments: [true, false], [false, true])
    func closeNotifyClosesPeer(_ clientCloses: Bool, _ isSettled: Bool) {
        let (client, server, now) = established(isSettled: isSettled)
        let (leaving, staying) = clientCloses ? (client, server) : (server, client)
        leaving.close()
        let goodbye = leaving.datagrams()
        #expect(goodbye.count == 1)
        for datagram in goodbye { staying.receive(datagram, at: now) }
        #expect(staying.state == .closed)
        #expect(leaving.state == .closed)
    }

    @Test(
        "close_notify of each cipher suite is parsed without an SSL object, and others accept the project's",
        arguments: [
            "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
            "ECDHE-ECDSA-AES128-SHA",
        ], [true, false])
    func suites(_ suite: String, _ theyClose: Bool) {
        let server = DTLSTestCertificates.ends().server
        let client = DTLSForeignPeer(.client, certificate: DTLSTestCertificates.client, ciphers: suite)
        var network = DTLSNetwork(client: client, server: server)
        network.run()
        #expect(server.keys != nil && client.isFinished)
        server.releaseResources()
        if theyClose {
            client.close()
            for datagram in client.datagrams() { server.receive(datagram, at: network.now) }
            #expect(server.state == .closed)
        } else {
            server.close()
            for datagram in server.datagrams() { client.receive(datagram, at: network.now) }
            #expect(client.hasSeenGoodbye)
        }
    }

    @Test("an end that has settled has released most of its memory", .timeLimit(.minutes(5)))
    func footprint() async {
        // In its own process, because other tests allocate at the same time.
        await #expect(processExitsWith: .success) {
            let ends = (0..<20).map { _ in DTLSTestCertificates.ends() }
            for end in ends {
                var network = DTLSNetwork(client: end.client, server: end.server)
                network.run()
            }
            let before = SRTPFootprint.bytesInUse
            for end in ends { end.server.releaseResources() }
            let freed = before - SRTPFootprint.bytesInUse
            withExtendedLifetime(ends) {}
            precondition(freed / ends.count > 8_000, "\(freed) bytes of \(ends.count) ends")
        }
    }

    @Test("truncated, damaged and random datagrams after the handshake have no effect", arguments: [false, true])
    func garbage(_ isSettled: Bool) {
        let (client, server, now) = established(isSettled: isSettled)
        var generator = SeededGenerator(seed: 4)
        client.close()
        let goodbye = client.datagrams()[0]
        for length in 0..<goodbye.count { server.receive(Array(goodbye[..<length]), at: now) }
        // OpenSSL checks the version only of handshake records, and it is not part of an alert's authentication.
        for position in 0..<goodbye.count where position != 1 && position != 2 {
            var changed = goodbye
            changed[position] ^= 1
            server.receive(changed, at: now)
            server.receive(generator.bytes(position + 1), at: now)
        }
        #expect(server.keys != nil)
        server.receive(goodbye, at: now)
        #expect(server.state == .closed)
    }
}

/// Returns when this real time has passed, because OpenSSL uses the machine's own clock.
private func awaitRealTime(_ duration: Duration) {
    let clock = ContinuousClock()
    let end = clock.now + duration
    while clock.now < end {}
}

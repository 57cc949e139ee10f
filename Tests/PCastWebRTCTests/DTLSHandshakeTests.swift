import COpenSSL
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// Handshakes between two ends of this project.
struct DTLSHandshakeTests {
    @Test("both ends agree on keys with any loss, repetition or reordering", arguments: [0, 20, 40])
    func loss(_ percent: Int) {
        for seed in 0..<100 {
            let ends = DTLSTestCertificates.ends()
            var network = DTLSNetwork(client: ends.client, server: ends.server, seed: UInt64(seed))
            network.loss = percent
            network.repetition = percent / 2
            network.run()
            guard let client = ends.client.keys, let server = ends.server.keys else {
                Issue.record("seed \(seed): \(ends.client.state), \(ends.server.state)")
                continue
            }
            #expect(client.localKey == server.remoteKey && client.remoteKey == server.localKey)
            #expect(client.localSalt == server.remoteSalt && client.remoteSalt == server.localSalt)
            #expect(client.profile == .aeadAES128GCM && server.profile == .aeadAES128GCM)
            #expect(network.largestDatagram <= 1200)
        }
    }

    /// Divides a ClientHello in one record into fragments of `size` bytes, each in its own record. The record numbers
    /// leave space for those of the client's later records.
    private static func fragments(of hello: [UInt8], size: Int) -> [[UInt8]] {
        let body = Array(hello[25...])
        return stride(from: 0, to: body.count, by: size).enumerated().map { number, offset in
            let part = Array(body[offset..<min(offset + size, body.count)])
            func uint24(_ value: Int) -> [UInt8] { [0, UInt8(value >> 8), UInt8(value & 0xFF)] }
            let message = hello[13..<19] + uint24(offset) + uint24(part.count) + part
            let header = hello[0..<5] + [0, 0, 0, 0, 0, UInt8(number == 0 ? 0 : 30 + number)]
            return header + [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
        }
    }

    @Test(
        "a ClientHello in many reordered datagrams is answered without a cookie",
        arguments: [20, 64, 100])
    func reorderedClientHello(_ size: Int) {
        let ends = DTLSTestCertificates.ends()
        var network = DTLSNetwork(client: ends.client, server: ends.server)
        var helloParts = 0
        network.alter = { datagram, toServer in
            guard toServer, datagram[0] == 22, datagram[13] == 1 else { return [datagram] }
            let fragments = Self.fragments(of: datagram, size: size)
            helloParts = fragments.count
            return fragments.reversed()
        }
        network.run()
        #expect(helloParts > 1)
        #expect(ends.client.keys != nil)
        #expect(ends.server.keys != nil)
    }

    @Test("a flight is repeated after 50 ms or two round trips, and then at doubled intervals up to 2 s")
    func flightRetransmissionIntervals() {
        let start = Instant(nanoseconds: 1)
        for (roundTrip, expected) in [
            (TimeSpan?.none, [50, 100, 200, 400, 800, 1600, 2000, 2000]),
            (.milliseconds(10), [50, 100, 200, 400, 800, 1600, 2000, 2000]),
            (.milliseconds(150), [300, 600, 1200, 2000, 2000, 2000, 2000, 2000]),
        ] {
            let client = DTLSTestCertificates.ends().client
            client.roundTrip = roundTrip
            client.start(at: start)
            let hello = client.datagrams()
            #expect(hello.count == 1)
            var now = start
            var repetitions: UInt8 = 0
            for step in expected {
                #expect(client.deadline == now + .milliseconds(Int64(step)))
                client.advance(to: now + .milliseconds(Int64(step)) - .nanoseconds(1))
                #expect(client.datagrams().isEmpty)
                now += .milliseconds(Int64(step))
                client.advance(to: now)
                let repeated = client.datagrams()
                repetitions += 1
                // It is the same except for the record's number, which is never used twice.
                #expect(repeated.map { Array($0[..<5] + $0[11...]) } == hello.map { Array($0[..<5] + $0[11...]) })
                #expect(repeated.first.map { Array($0[5..<11]) } == [0, 0, 0, 0, 0, repetitions])
            }
        }
    }

    @Test("a handshake without an answer fails after 30 seconds and sets no further deadline")
    func handshakeTimeout() {
        let client = DTLSTestCertificates.ends().client
        let start = Instant(nanoseconds: 0)
        client.start(at: start)
        var last = start
        while let deadline = client.deadline {
            last = deadline
            client.advance(to: deadline)
        }
        #expect(last == start + .seconds(30))
        #expect(client.state == .failed(.timeout))
    }

    @Test("RSA certificates at either end are accepted, and no datagram exceeds 1200 bytes")
    func rsa() throws {
        let key = try #require(pcast_evp_rsa_gen(4096))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        for ends in [
            DTLSTestCertificates.ends(client: certificate), DTLSTestCertificates.ends(server: certificate),
            DTLSTestCertificates.ends(client: certificate, server: certificate),
        ] {
            var network = DTLSNetwork(client: ends.client, server: ends.server)
            network.run()
            #expect(ends.client.keys != nil)
            #expect(ends.server.keys != nil)
            #expect(network.largestDatagram > 700)
            #expect(network.largestDatagram <= 1200)
        }
    }

    @Test("each datagram contains only complete records, however many a flight has")
    func completeRecordsPerDatagram() throws {
        let key = try #require(pcast_evp_rsa_gen(4096))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ends = DTLSTestCertificates.ends(client: certificate, server: certificate)
        var network = DTLSNetwork(client: ends.client, server: ends.server)
        var (sizes, torn): ([Int], Int) = ([], 0)
        network.alter = { datagram, _ in
            sizes.append(datagram.count)
            // RFC 6347, section 4.1: type, version, epoch and number have 11 bytes, the length two.
            var offset = 0
            while offset + 13 <= datagram.count, (20...23).contains(datagram[offset]), datagram[offset + 1] == 0xFE {
                offset += 13 + Int(datagram[offset + 11]) << 8 + Int(datagram[offset + 12])
            }
            if offset != datagram.count { torn += 1 }
            return [datagram]
        }
        network.run()
        #expect(ends.client.keys != nil && ends.server.keys != nil)
        #expect(torn == 0)
        // Both flights with a certificate of that size have several datagrams.
        #expect(sizes.count { $0 > 700 } >= 3, "\(sizes)")
    }

    @Test("large flights of ends with RSA certificates succeed despite loss and reordering")
    func lossyRSA() throws {
        let key = try #require(pcast_evp_rsa_gen(2048))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        for seed in 0..<40 {
            let ends = DTLSTestCertificates.ends(client: certificate, server: certificate)
            var network = DTLSNetwork(client: ends.client, server: ends.server, seed: UInt64(seed))
            network.loss = 20
            network.run()
            #expect(ends.client.keys != nil && ends.server.keys != nil, "seed \(seed)")
        }
    }

    @Test("a client sends nothing before it is started, and a server nothing before a request")
    func nothingIsSentBeforeStart() {
        let ends = DTLSTestCertificates.ends()
        #expect(ends.client.datagrams().isEmpty)
        #expect(ends.client.state == .new)
        ends.server.start(at: Instant(nanoseconds: 0))
        #expect(ends.server.datagrams().isEmpty)
    }

    @Test("a client has the final keys when it has sent its final flight, and a server only when it has received it")
    func earlyKeys() throws {
        let ends = DTLSTestCertificates.ends()
        let now = Instant(nanoseconds: 0)
        ends.client.start(at: now)
        for datagram in ends.client.datagrams() { ends.server.receive(datagram, at: now) }
        #expect(ends.client.earlyKeys == nil)
        for datagram in ends.server.datagrams() { ends.client.receive(datagram, at: now) }
        let early = try #require(ends.client.earlyKeys)
        #expect(ends.client.state == .handshaking && ends.server.earlyKeys == nil)
        for datagram in ends.client.datagrams() { ends.server.receive(datagram, at: now) }
        let server = try #require(ends.server.keys)
        #expect(early.localKey == server.remoteKey && early.remoteKey == server.localKey)
        #expect(early.localSalt == server.remoteSalt && early.remoteSalt == server.localSalt)
        // The server's final flight is missing, and the client repeats its own.
        #expect(ends.client.deadline == now + .milliseconds(50))
        for datagram in ends.server.datagrams() { ends.client.receive(datagram, at: now) }
        #expect(ends.client.keys == early && ends.client.earlyKeys == nil && ends.client.deadline == nil)
    }

    @Test(
        "a client waits for the server's final flight if the cipher suite has no AEAD",
        arguments: [("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-AES128-SHA", false)])
    func earlyKeysNeedAEAD(ciphers: String, isEarly: Bool) {
        let server = DTLSForeignPeer(.server, certificate: DTLSTestCertificates.server, ciphers: ciphers)
        let client = OpenSSLHandshake(
            certificate: DTLSTestCertificates.client, role: .client,
            expectedFingerprints: [DTLSTestCertificates.server.fingerprint])
        let now = Instant(nanoseconds: 0)
        client.start(at: now)
        for datagram in client.datagrams() { server.receive(datagram, at: now) }
        for datagram in server.datagrams() { client.receive(datagram, at: now) }
        #expect((client.earlyKeys != nil) == isEarly && client.state == .handshaking)
        for datagram in client.datagrams() { server.receive(datagram, at: now) }
        for datagram in server.datagrams() { client.receive(datagram, at: now) }
        #expect(client.keys != nil && server.isFinished)
    }

    @Test("a client has no keys of a server whose certificate has another fingerprint")
    func earlyKeysNeedFingerprint() {
        let other = DTLSTestCertificates.make()
        let ends = DTLSTestCertificates.ends()
        let client = OpenSSLHandshake(
            certificate: DTLSTestCertificates.client, role: .client, expectedFingerprints: [other.fingerprint])
        let now = Instant(nanoseconds: 0)
        client.start(at: now)
        for datagram in client.datagrams() { ends.server.receive(datagram, at: now) }
        for datagram in ends.server.datagrams() { client.receive(datagram, at: now) }
        #expect(client.earlyKeys == nil && client.state == .failed(.fingerprintMismatch))
    }

    @Test("an invalid datagram is ignored, a damaged one fails with a reason at most, and nothing traps")
    func garbage() {
        var generator = SeededGenerator(seed: 11)
        var established = 0
        for seed in 0..<60 {
            let ends = DTLSTestCertificates.ends()
            var network = DTLSNetwork(client: ends.client, server: ends.server, seed: UInt64(seed))
            network.alter = { datagram, _ in
                let size = Int.random(in: 0...200, using: &generator)
                let noise = [UInt8.random(in: 20...63, using: &generator)] + generator.bytes(size)
                guard seed % 2 == 1 else { return [noise, datagram, []] }
                var damaged = datagram
                damaged[Int.random(in: 0..<datagram.count, using: &generator)] ^= 0x10
                return Bool.random(using: &generator) ? [damaged] : [datagram, Array(damaged.prefix(size))]
            }
            network.run()
            if seed % 2 == 0 {
                #expect(ends.client.keys != nil && ends.server.keys != nil, "garbage broke the handshake, seed \(seed)")
            }
            if ends.client.keys != nil && ends.server.keys != nil { established += 1 }
        }
        #expect(established >= 30)
    }
}

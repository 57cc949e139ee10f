import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

@Suite struct ICECandidateTests {
    @Test("browsers' candidates are parsed and written again")
    func attributes() throws {
        for text in [
            "candidate:842163049 1 udp 1677729535 203.0.113.5 46154 typ srflx raddr 10.0.0.2 rport 46154",
            "candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active",
            "candidate:2 1 tcp 1518214911 2001:db8::1 8189 typ host tcptype passive",
            "candidate:3 1 udp 2122260223 2001:db8::2 5000 typ host",
        ] {
            let candidate = try #require(ICECandidate(text))
            #expect(candidate.description == text)
            #expect(ICECandidate("a=" + text + " generation 0 ufrag x network-cost 999") == candidate)
        }
        let upper = ICECandidate("candidate:1 1 UDP 1 1.2.3.4 5 typ host\r\n")
        #expect(upper?.transportAddress == TransportAddress("1.2.3.4:5"))
    }

    @Test("a .local name is kept as a name without an address")
    func mDNSNames() throws {
        let text = "candidate:1 1 udp 2113937151 6f2c0bb5-ba3b-4b4e-8a4a-7ad4d0e0a5cd.local 51234 typ host"
        let candidate = try #require(ICECandidate(text))
        #expect(candidate.address == .name("6f2c0bb5-ba3b-4b4e-8a4a-7ad4d0e0a5cd.local"))
        #expect(candidate.transportAddress == nil)
        #expect(candidate.description == text)
        var network = ICENetwork()
        network.client.addRemoteCandidate(candidate, at: network.now)
        let isSilent = network.client.pollMessage(at: network.now) == nil
        #expect(network.client.state == .new && isSilent)
    }

    @Test("an IPv4-mapped address equals the IPv4 address")
    func ipv4MappedAddresses() {
        let mapped = ICECandidate("candidate:1 1 udp 1 ::ffff:192.0.2.1 5 typ host")
        #expect(mapped?.address == .ip(IPAddress("192.0.2.1")!))
        #expect(mapped?.description == "candidate:1 1 udp 1 192.0.2.1 5 typ host")
    }

    @Test(
        "invalid candidates are rejected",
        arguments: [
            "", "candidate:", "candidate:1 1 udp 1 1.2.3.4 5 typ", "candidate:1 1 udp 1 1.2.3.4 5 kind host",
            "candidate:1 1 udp 4294967296 1.2.3.4 5 typ host", "candidate:1 1 udp 1 1.2.3.4 65536 typ host",
            "candidate:1 0 udp 1 1.2.3.4 5 typ host", "candidate:1 1 sctp 1 1.2.3.4 5 typ host",
            "candidate:1 1 tcp 1 1.2.3.4 5 typ host", "candidate:1 1 tcp 1 1.2.3.4 5 typ host tcptype odd",
            "candidate:1 1 udp 1 1.2.3.4 5 typ other", "candidate:1 -1 udp 1 1.2.3.4 5 typ host",
            "candidate:1 1 udp 1 1.2.3.4 5 typ host " + String(repeating: "x", count: 1024),
        ])
    func broken(text: String) {
        #expect(ICECandidate(text) == nil)
    }

    @Test("random and truncated attributes never trap")
    func mutations() {
        var generator = SeededGenerator(seed: 8)
        let text = Array("candidate:1 1 udp 1677729535 203.0.113.5 46154 typ srflx raddr 10.0.0.2 rport 46154".utf8)
        for count in text.indices { _ = ICECandidate(String(decoding: text[..<count], as: UTF8.self)) }
        for _ in 0..<5000 {
            var bytes = text
            for _ in 0..<4 { bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(generator.next() >> 56) }
            _ = ICECandidate(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test("priorities are those of RFC 8445, and TCP is below UDP")
    func candidatePriorities() {
        #expect(ICECandidate.priority(.host, transport: .udp) == 126 << 24 | 65535 << 8 | 255)
        #expect(ICECandidate.priority(.serverReflexive, transport: .udp, preference: 1) == 100 << 24 | 1 << 8 | 255)
        let tcp = ICECandidate.priority(.host, transport: .tcp(.passive))
        #expect(tcp == 90 << 24 | (4 << 13 | 8191) << 8 | 255)
        #expect(tcp < ICECandidate.priority(.serverReflexive, transport: .udp, preference: 0))
        let passive = ICECandidate.host(TransportAddress("192.0.2.1:8189")!, transport: .tcp(.passive))
        #expect(passive.description.hasSuffix("tcp \(tcp) 192.0.2.1 8189 typ host tcptype passive"))
    }

    @Test("candidates of one base, type and transport share a foundation, and others do not")
    func foundations() {
        let first = ICECandidate.host(TransportAddress("192.0.2.1:1")!)
        #expect(first.foundation == ICECandidate.host(TransportAddress("192.0.2.1:2")!).foundation)
        #expect(first.foundation != ICECandidate.host(TransportAddress("192.0.2.2:1")!).foundation)
        let stream = ICECandidate.host(TransportAddress("192.0.2.1:1")!, transport: .tcp(.passive))
        #expect(first.foundation != stream.foundation)
        let reflexive = ICECandidate.serverReflexive(
            TransportAddress("203.0.113.1:7")!, base: TransportAddress("192.0.2.1:1")!)
        #expect(first.foundation != reflexive.foundation)
        #expect(reflexive.description.hasSuffix("203.0.113.1 7 typ srflx raddr 192.0.2.1 rport 1"))
    }
}

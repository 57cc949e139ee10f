import PCastCore
import Testing

@Suite struct IPAddressTests {
    /// RFC 5952, section 4, and RFC 4291, section 2.2.
    @Test(
        "an address is written in its canonical form",
        arguments: [
            ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("001.02.3.4", "1.2.3.4"),
            ("2001:0DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("0:0:0:0:0:0:13.1.68.3", "::d01:4403"), ("fe80::1", "fe80::1"),
        ])
    func canonicalText(text: String, canonical: String) throws {
        let ip = try #require(IPAddress(text))
        #expect(ip.description == canonical)
        #expect(IPAddress(canonical) == ip)
    }

    @Test("an IPv4-mapped address equals the IPv4 address that it contains")
    func ipv4MappedAddresses() throws {
        let mapped = try #require(IPAddress("::ffff:192.0.2.128"))
        #expect(mapped == IPAddress("192.0.2.128"))
        #expect(mapped.family == .v4 && mapped.v4 == 0xC000_0280)
        #expect(mapped.v6.high == 0 && mapped.v6.low == 0xFFFF_C000_0280)
        #expect(IPAddress(v6: 0, 0xFFFF_0A00_0001) == IPAddress(v4: 0x0A00_0001))
        #expect(IPAddress(v6: 0, 0xFFFE_0A00_0001).family == .v6)
        #expect(IPAddress(v6: 1, 0xFFFF_0A00_0001).v4 == nil)
    }

    @Test(
        "malformed text is rejected",
        arguments: [
            "", ".", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", "1..3.4", "+1.2.3.4", "-1.2.3.4", " 1.2.3.4",
            "0x1.2.3.4",
            "1.2.3.0004", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "+1::",
            "-0::1",
            "::1%eth0", "1:2:3:4:5:6:7:8::", "1.2.3.4::", "::1.2.3.4:5", "[::1]", "١.2.3.4",
        ])
    func malformedText(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("special addresses are recognized")
    func specialAddresses() {
        #expect(IPAddress("127.1.2.3")?.isLoopback == true && IPAddress("::1")?.isLoopback == true)
        #expect(IPAddress("128.0.0.1")?.isLoopback == false && IPAddress("::2")?.isLoopback == false)
        #expect(IPAddress("0.0.0.0")?.isUnspecified == true && IPAddress("::")?.isUnspecified == true)
        #expect(IPAddress("0.0.0.1")?.isUnspecified == false && IPAddress("1::")?.isUnspecified == false)
        #expect(IPAddress("169.254.0.1")?.isLinkLocal == true && IPAddress("febf::1")?.isLinkLocal == true)
        #expect(IPAddress("169.253.0.1")?.isLinkLocal == false && IPAddress("fec0::1")?.isLinkLocal == false)
        #expect(IPAddress.anyV4.description == "0.0.0.0" && IPAddress.loopbackV4.description == "127.0.0.1")
    }
}

@Suite struct IPNetworkTests {
    @Test(
        "a network contains the addresses with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("0.0.0.0/0", "::1", false),
            ("fc00::/7", "fdff::1", true), ("fc00::/7", "fe00::", false), ("::1", "::1", true), ("::/0", "::1", true),
            ("2001:db8::/65", "2001:db8::7fff:0:0:1", true), ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
            ("10.1.2.3/8", "10.9.9.9", true), ("127.0.0.0/8", "::ffff:127.0.0.1", true),
        ])
    func contains(network: String, address: String, isInside: Bool) throws {
        let network = try #require(IPNetwork(network))
        #expect(network.contains(try #require(IPAddress(address))) == isInside)
        #expect(IPNetwork(network.description) == network)
    }

    @Test(
        "an invalid network is none", arguments: ["", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "a/8"])
    func malformed(text: String) { #expect(IPNetwork(text) == nil) }

    @Test(
        "addresses of this machine, of private networks and of special purposes are not public",
        arguments: [
            "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.19.0.1", "224.0.0.1", "255.255.255.255",
            "::", "::1",
            "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2002:a00:1::",
            "fe80::1",
            "fd00::1", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1", "100::1",
        ])
    func special(text: String) throws { #expect(try !#require(IPAddress(text)).isPublic) }

    @Test(
        "other addresses are public",
        arguments: [
            "8.8.8.8", "1.1.1.1", "172.32.0.1", "172.15.0.1", "100.128.0.1", "11.0.0.1", "2606:4700::1111", "2a00::1",
            "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8",
        ])
    func ordinary(text: String) throws { #expect(try #require(IPAddress(text)).isPublic) }
}

@Suite struct TransportAddressTests {
    @Test(
        "an address is read and written",
        arguments: [
            ("127.0.0.1:8189", "127.0.0.1:8189"), ("[::1]:65535", "[::1]:65535"),
            ("[2001:DB8::1]:0", "[2001:db8::1]:0"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ])
    func textRoundTrip(text: String, written: String) throws {
        let address = try #require(TransportAddress(text))
        #expect(address.description == written)
        #expect(TransportAddress(written) == address)
    }

    @Test(
        "malformed text is rejected",
        arguments: [
            "", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:-0", "127.0.0.1:+80",
            "127.0.0.1: 80",
            "::1:80",
            "[::1]", "[::1:80", "::1]:80", "localhost:80", "[]:80", ":80",
        ])
    func malformedText(text: String) {
        #expect(TransportAddress(text) == nil)
    }

    @Test("paths differ if either end or the transport differs")
    func pathEquality() throws {
        let (here, there) = (try #require(TransportAddress("10.0.0.1:1")), try #require(TransportAddress("10.0.0.2:2")))
        let path = NetworkPath(local: here, remote: there)
        #expect(path.transport == .udp)
        #expect(path == NetworkPath(transport: .udp, local: here, remote: there))
        #expect(path != NetworkPath(local: there, remote: here))
        #expect(path != NetworkPath(transport: .tcp(connection: 1), local: here, remote: there))
        #expect(
            Set([1, 1, 2].map { NetworkPath(transport: .tcp(connection: $0), local: here, remote: there) }).count == 2)
    }
}

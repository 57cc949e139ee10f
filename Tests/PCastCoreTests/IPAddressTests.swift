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

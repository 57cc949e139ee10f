import PCastCore
import Testing

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

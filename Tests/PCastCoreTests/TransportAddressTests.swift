import PCastCore
import Testing

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

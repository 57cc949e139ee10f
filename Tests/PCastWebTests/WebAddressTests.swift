import Testing

@testable import PCastWeb

@Suite struct WebAddressTests {
    @Test(
        "addresses are parsed by RFC 3986",
        arguments: [
            ("http://example.com", "example.com", 80, "/", false),
            ("https://example.com", "example.com", 443, "/", true),
            ("ws://example.com:81/ws", "example.com", 81, "/ws", false),
            ("WSS://a/b?c=d/e", "a", 443, "/b?c=d/e", true),
            ("http://127.0.0.1:8080/watch/x", "127.0.0.1", 8080, "/watch/x", false),
            ("http://[::1]:8080", "::1", 8080, "/", false), ("https://[2001:db8::1]/x", "2001:db8::1", 443, "/x", true),
            ("http://a?b=c", "a", 80, "/?b=c", false), ("http://a/b#c", "a", 80, "/b", false),
            ("http://a#b", "a", 80, "/", false), ("http://a:65535", "a", 65_535, "/", false),
            ("http://a//b", "a", 80, "//b", false), ("http://a/b:9@c", "a", 80, "/b:9@c", false),
        ] as [(String, String, Int, String, Bool)])
    func reads(uri: String, host: String, port: Int, path: String, isSecure: Bool) throws {
        let address = try WebAddress(uri)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.path == path)
        #expect(address.isSecure == isSecure)
    }

    @Test(
        "an invalid address is rejected, and so is one that could end a header's line",
        arguments: [
            "", "example.com", "ftp://example.com", "http:/a", "http://", "http:///path", "http://:80", "http://a:",
            "http://a:x", "http://a:+80", "http://a:-1", "http://a:65536", "http://a:1:2", "http://user@a",
            "http://::1",
            "http://[::1", "http://[::1]x", "http://[::1]:", "http://[a]", "http://[]", "http://a]", "http://a b",
            "http://a/b c", "http://a/\r\nX: y", "http://a\u{0}", "http://a%41", "http://a\\b", "://a",
        ])
    func refuses(uri: String) {
        let error = #expect(throws: WebError.self) { try WebAddress(uri) }
        guard case .invalidURI(uri)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "an origin has the port and IPv6 its brackets",
        arguments: [
            ("ws://a/b", "http://a:80"), ("wss://a", "https://a:443"), ("http://[::1]:8080/x", "http://[::1]:8080"),
        ])
    func origins(uri: String, origin: String) throws {
        #expect(try WebAddress(uri).origin == origin)
    }

    @Test(
        "IP addresses are distinguished from names",
        arguments: [
            ("http://127.0.0.1", true), ("http://[::1]", true), ("http://a1.b2", false), ("http://localhost", false),
        ])
    func numbers(uri: String, isNumeric: Bool) throws {
        #expect(try WebAddress(uri).isNumeric == isNumeric)
    }

    @Test("a combining character after a delimiter hides it from no reader of bytes") func combiningCharacters()
        throws
    {
        for delimiter in ["/", "?", "#"] {
            let address = try WebAddress("http://10.0.0.5\(delimiter)\u{301}.public.example/")
            #expect(address.host == "10.0.0.5", "\(delimiter)")
        }
        for uri in ["http://10.0.0.5:\u{301}80/", "http://a@\u{301}b/", "http://[::1]\u{301}:80/"] {
            #expect(throws: WebError.self) { try WebAddress(uri) }
        }
    }
}

import PCastCore
import Testing

@testable import PCastPlatform

/// The addresses that proxies report, and which of them are trusted.
@Suite struct ForwardedAddressTests {
    private static let proxies = ["127.0.0.1", "10.0.0.0/8", "2001:db8:ff::/48"].map { IPNetwork($0)! }

    private func evaluate(_ peer: String, _ field: ForwardedHeader, _ values: String...) -> String? {
        ForwardedAddress(field, values).address(of: IPAddress(peer), trusting: Self.proxies)?.description
    }

    @Test("an untrusted address is not believed") func unknownPeer() {
        #expect(evaluate("198.51.100.7", .forwardedFor, "192.0.2.1") == "198.51.100.7")
        #expect(evaluate("198.51.100.7", .forwarded, "for=192.0.2.1") == "198.51.100.7")
    }

    @Test("trusted proxies are believed from the right until the first untrusted address") func proxies() {
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1") == "192.0.2.1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1, 10.1.1.1") == "192.0.2.1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1", "10.1.1.1") == "192.0.2.1")
        #expect(evaluate("127.0.0.1", .forwardedFor) == "127.0.0.1")
    }

    @Test("an address that the client wrote is further left and not believed") func forged() {
        #expect(evaluate("127.0.0.1", .forwardedFor, "127.0.0.1, 192.0.2.1") == "192.0.2.1")
        #expect(evaluate("10.0.0.1", .forwardedFor, "203.0.113.9, 10.9.9.9, 192.0.2.1, 10.1.1.1") == "192.0.2.1")
        #expect(evaluate("127.0.0.1", .forwarded, "for=127.0.0.1, for=192.0.2.1") == "192.0.2.1")
    }

    @Test("Forwarded is parsed by RFC 7239") func forwarded() {
        #expect(evaluate("127.0.0.1", .forwarded, "for=192.0.2.43") == "192.0.2.43")
        #expect(evaluate("127.0.0.1", .forwarded, "proto=https;FOR=\"192.0.2.43:4711\";by=x") == "192.0.2.43")
        #expect(evaluate("127.0.0.1", .forwarded, "for=\"[2001:db8:cafe::17]:4711\"") == "2001:db8:cafe::17")
        #expect(evaluate("127.0.0.1", .forwarded, "for=192.0.2.1;host=\"a,for=6.6.6.6\"") == "192.0.2.1")
    }

    @Test("without a name the last known address counts") func unnamed() {
        #expect(evaluate("127.0.0.1", .forwarded, "for=192.0.2.1, for=unknown") == "127.0.0.1")
        #expect(evaluate("127.0.0.1", .forwarded, "for=192.0.2.1, for=_hidden, for=10.1.1.1") == "10.1.1.1")
        #expect(evaluate("127.0.0.1", .forwarded, "proto=https") == "127.0.0.1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "nonsense") == "127.0.0.1")
        // An empty element is ignored (RFC 9110, section 5.6.1).
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1, ,") == "127.0.0.1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1,") == "192.0.2.1")
    }

    @Test("ports and brackets are removed, and IPv6 proxies are recognized") func forms() {
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1:80") == "192.0.2.1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "[2001:db8::1]:80") == "2001:db8::1")
        #expect(evaluate("127.0.0.1", .forwardedFor, "2001:db8::1") == "2001:db8::1")
        #expect(evaluate("2001:db8:ff::9", .forwardedFor, "2001:db8::1") == "2001:db8::1")
        #expect(evaluate("::ffff:127.0.0.1", .forwardedFor, "192.0.2.1") == "192.0.2.1")
    }

    @Test("only the end of a very long field is read") func long() {
        let many = Array(repeating: "10.0.0.1", count: 100_000).joined(separator: ",")
        #expect(evaluate("127.0.0.1", .forwardedFor, "192.0.2.1," + many) == "10.0.0.1")
    }

    @Test("the field that the operator's proxy does not write is ignored") func otherField() {
        let limiter = RequestLimiter(trustedProxies: Self.proxies)
        let fields = ["forwarded": ["for=6.6.6.6"], "x-forwarded-for": ["192.0.2.1"]]
        let peer = IPAddress("127.0.0.1")
        #expect(limiter.address(of: peer) { fields[$0] ?? [] } == IPAddress("192.0.2.1"))
        limiter.change(trustedProxies: Self.proxies, forwardedHeader: .forwarded)
        #expect(limiter.address(of: peer) { fields[$0] ?? [] } == IPAddress("6.6.6.6"))
        limiter.change(trustedProxies: [], forwardedHeader: .forwarded)
        #expect(limiter.address(of: peer) { fields[$0] ?? [] } == peer)
    }

    @Test(
        "a client's text does not join with what a proxy appends",
        arguments: [
            "127.0.0.1:\u{600}, 203.0.113.5", "127.0.0.1:\u{600},203.0.113.5", "127.0.0.1\u{600}, 203.0.113.5",
            "127.0.0.1:\u{1F1E6}, 203.0.113.5", "\u{FFFD}, 203.0.113.5",
        ])
    func joinedCharacters(value: String) {
        #expect(evaluate("127.0.0.1", .forwardedFor, value) == "203.0.113.5")
        #expect(evaluate("127.0.0.1", .forwarded, "for=127.0.0.1:\u{600}, for=203.0.113.5") == "203.0.113.5")
        let limiter = RequestLimiter(trustedProxies: Self.proxies)
        let caller = limiter.caller(IPAddress("127.0.0.1")) { $0 == "x-forwarded-for" ? [value] : [] }
        #expect(!caller.isOnThisMachine)
    }

    @Test("a value with bytes beyond printable ASCII makes no client local") func unprintable() {
        let limiter = RequestLimiter(trustedProxies: Self.proxies)
        for value in ["\u{600}, 127.0.0.1", "\u{301},127.0.0.1", "\u{7F}, 127.0.0.1", "\u{1}, 127.0.0.1"] {
            let caller = limiter.caller(IPAddress("127.0.0.1")) { $0 == "x-forwarded-for" ? [value] : [] }
            #expect(!caller.isOnThisMachine, "\(value.debugDescription)")
        }
        let caller = limiter.caller(IPAddress("127.0.0.1")) { $0 == "x-forwarded-for" ? ["127.0.0.1"] : [] }
        #expect(caller.isOnThisMachine)
    }

    @Test(
        "quotes that a client leaves open hide nothing that a proxy appends",
        arguments: [
            #"for=127.0.0.1:", for=203.0.113.5"#, #"for="127.0.0.1, for=203.0.113.5"#,
            #"for=127.0.0.1;x="\", for=203.0.113.5"#, #"for=127.0.0.1:", for="[2001:db8::1]:80""#,
        ])
    func openQuotes(value: String) {
        let limiter = RequestLimiter(trustedProxies: Self.proxies, forwardedHeader: .forwarded)
        let caller = limiter.caller(IPAddress("127.0.0.1")) { $0 == "forwarded" ? [value] : [] }
        #expect(!caller.isOnThisMachine)
        #expect(!ForwardedAddress.isSecure(.forwarded) { _ in [#"proto=https;x=", for=203.0.113.5;proto=http"#] })
        #expect(ForwardedAddress.isSecure(.forwarded) { _ in [#"proto=http, for=203.0.113.5;proto="https""#] })
    }

    @Test(
        "only a port may follow an address",
        arguments: [
            "127.0.0.1:x", "127.0.0.1:", "127.0.0.1:123456", "127.0.0.1:80 x", "127.0.0.1:-1", "[::1]x", "[::1]:",
            "[::1]:80x", "\"127.0.0.1", "127.0.0.1\"", "[127.0.0.1", "::1:x",
        ])
    func ports(value: String) {
        let limiter = RequestLimiter(trustedProxies: Self.proxies)
        let caller = limiter.caller(IPAddress("127.0.0.1")) { $0 == "x-forwarded-for" ? [value] : [] }
        #expect(!caller.isOnThisMachine)
    }
}

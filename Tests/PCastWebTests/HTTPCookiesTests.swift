import Testing

@testable import PCastWeb

@Suite("Cookies") struct HTTPCookiesTests {
    private static func address(_ text: String) throws -> WebAddress { try WebAddress(text) }

    @Test(
        "a cookie is sent to its own address only",
        arguments: [
            ("a=1; Path=/", "http://films.example/x", "http://films.example/y", true),
            ("a=1", "http://films.example/x/y", "http://films.example/z", false),
            ("a=1", "http://films.example/x/y", "http://films.example/x/z", true),
            ("a=1; Path=/", "http://films.example/", "http://www.films.example/", false),
            ("a=1; Path=/; Domain=.films.example", "http://www.films.example/", "http://cdn.films.example/", true),
            ("a=1; Path=/; Domain=films.example", "http://www.films.example/", "http://otherfilms.example/", false),
            ("a=1; Path=/; Domain=example", "http://www.example/", "http://b.example/", false),
            ("a=1; Path=/; Domain=other.org", "http://films.example/", "http://other.org/", false),
            ("a=1; Path=/; Secure", "https://films.example/", "http://films.example/", false),
            ("a=1; Path=/; Secure", "https://films.example/", "https://films.example/", true),
            ("a=1; Path=/x", "http://films.example/x", "http://films.example/xy", false),
            ("a=1; Path=/; Max-Age=0", "http://films.example/", "http://films.example/", false),
            ("a=1; Path=/; Max-Age=60", "http://films.example/", "http://films.example/", true),
            (
                "a=1; Path=/; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "http://films.example/", "http://films.example/",
                false
            ),
            // A combining character belongs to the byte before it only as text.
            ("a=1;\u{301}Path=/x; Path=/", "http://films.example/", "http://films.example/", true),
            ("=1", "http://films.example/", "http://films.example/", false),
            ("a=1; Path=/", "http://127.0.0.1:81/", "http://127.0.0.1:82/", true),
        ])
    func scope(_ field: String, _ from: String, _ to: String, _ isSent: Bool) throws {
        let cookies = HTTPCookies()
        cookies.take([field], from: try Self.address(from))
        #expect(cookies.field(for: try Self.address(to)) == (isSent ? "a=1" : nil))
    }

    @Test(
        "the expiry time of a cookie may have any of the usual forms, and another text is ignored",
        arguments: [
            ("Wed, 09 Jun 2021 10:18:14 GMT", false), ("Wed, 09-Jun-21 10:18:14 GMT", false),
            ("Wednesday, 09-Jun-2021 10:18:14 GMT", false), ("Wed Jun  9 10:18:14 2021", false),
            ("10:18:14 2021 june 9", false), ("Wed, 09 Jun 2199 10:18:14 GMT", true), ("Wed Jun 9 10:18:14 2199", true),
            // Texts that are no time. The cookie lasts until the client ends.
            ("", true), ("Wed, 31 Feb 2021 10:18:14 GMT", true), ("Wed, 09 Jun 2021 24:18:14 GMT", true),
            ("Wed, 09 Jun 2021", true), ("Wed, 09 Jun 20211 10:18:14 GMT", true), ("09 Jun 1600 10:18:14", true),
            ("0", true), ("-1", true),
        ])
    func expiry(_ text: String, _ isSent: Bool) throws {
        let (cookies, address) = (HTTPCookies(), try Self.address("http://films.example/"))
        cookies.take(["a=1; Path=/; Expires=\(text)"], from: address)
        #expect(cookies.field(for: address) == (isSent ? "a=1" : nil))
    }

    @Test("a new value replaces the first, and the number of cookies is limited")
    func replacing() throws {
        let (cookies, address) = (HTTPCookies(), try Self.address("http://films.example/"))
        cookies.take(["a=1; Path=/", "b=2; Path=/", "a=3; Path=/"], from: address)
        #expect(cookies.field(for: address) == "b=2; a=3")
        for number in 0..<1_000 { cookies.take(["c\(number)=x; Path=/"], from: address) }
        #expect(cookies.field(for: address)?.split(separator: ";").count == 128)
    }
}

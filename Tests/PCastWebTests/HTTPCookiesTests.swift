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
            ("=1", "http://films.example/", "http://films.example/", false),
            ("a=1; Path=/", "http://127.0.0.1:81/", "http://127.0.0.1:82/", true),
        ])
    func scope(_ field: String, _ from: String, _ to: String, _ isSent: Bool) throws {
        let cookies = HTTPCookies()
        cookies.take([field], from: try Self.address(from))
        #expect(cookies.field(for: try Self.address(to)) == (isSent ? "a=1" : nil))
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

import PCastCore
import Testing

@Suite("Web addresses as users write them") struct WebURITests {
    @Test(
        "invalid characters in an address are encoded, and the rest is unchanged",
        arguments: [
            ("http://a/b c", "http://a/b%20c"), ("http://a/b%20c", "http://a/b%20c"),
            ("http://a/50%", "http://a/50%25"),
            ("HTTPS://a/ü?ä=ß", "HTTPS://a/%C3%BC?%C3%A4=%C3%9F"), ("http://a/b[1]", "http://a/b%5B1%5D"),
            ("http://[::1]:80/x", "http://[::1]:80/x"), ("http://a\\b\\c", "http://a/b/c"),
            (" http://a/x \n", "http://a/x"),
            ("http://a/x#y", "http://a/x"), ("http://a/x\ny", "http://a/xy"), ("http://a?q=1 2", "http://a?q=1%202"),
            ("ftp://a/b c", "ftp://a/b c"), ("film 1.mp4", "film 1.mp4"), ("", ""), ("http://", "http://"),
        ])
    func escaped(_ text: String, _ wanted: String) {
        #expect(WebURI.escaped(text) == wanted)
        #expect(WebURI.escaped(WebURI.escaped(text)) == wanted, "an encoded URI is unchanged")
    }

    @Test(
        "a data URI is parsed with and without base 64, and an invalid one is rejected",
        arguments: [
            ("data:,a%20b", "text/plain", "a b"), ("data:text/x;base64,aGVsbG8=", "text/x", "hello"),
            ("DATA:TEXT/X;charset=x;base64,aGVs%62G8", "text/x", "hello"), ("data:;base64,", "text/plain", ""),
            ("data:a/b,100%", "a/b", "100%"),
        ])
    func data(_ text: String, _ type: String, _ body: String) throws {
        let data = try #require(WebURI.data(text))
        #expect(data.type == type && String(decoding: data.bytes, as: UTF8.self) == body)
    }

    @Test("other text is not a data URI", arguments: ["data:", "http://a/,b", "data:x;base64,*", "datax,", ""])
    func noData(_ text: String) { #expect(WebURI.data(text) == nil) }
}

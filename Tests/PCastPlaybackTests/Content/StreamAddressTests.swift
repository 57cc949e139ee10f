import Testing

@testable import PCastPlayback

@Suite("Addresses of streams")
struct StreamAddressTests {
    @Test("pcast addresses, pcasts addresses and browser links are accepted with and without tokens")
    func addresses() {
        let cases: [(String, String, String?, String?)] = [
            ("pcast://127.0.0.1:8080/abc", "http://127.0.0.1:8080", "abc", nil),
            ("PCASTS://a.example/s%20t#token=DIGEST%3Ax%3D", "https://a.example", "s t", "DIGEST:x="),
            ("pcast://a.example", "http://a.example", nil, nil), ("pcast://a.example/", "http://a.example", nil, nil),
            ("pcast://a.example/below/it/abc", "http://a.example/below/it", "abc", nil),
            ("http://127.0.0.1:8080/watch/abc#token=t", "http://127.0.0.1:8080", "abc", "t"),
            ("https://a.example/p/watch/abc", "https://a.example/p", "abc", nil),
            ("whep://t@a.example:8889/cam/whep?x=1", "whep://t@a.example:8889/cam/whep?x=1", nil, nil),
            ("WHEPS://a.example/cam#token=t", "WHEPS://a.example/cam", nil, "t"),
        ]
        for (text, platform, stream, token) in cases {
            #expect(StreamAddress(text) == StreamAddress(platform: platform, stream: stream, token: token))
            #expect(Source(text).deliveryMethod == .pcast)
        }
    }

    @Test("other addresses are played as what they are")
    func others() {
        for text in [
            "https://a.example/watch/film.mp4", "https://a.example/watch", "film.mp4", "https://a.example/main.m3u8",
            "/watch/abc", "",
        ] {
            #expect(StreamAddress(text) == nil && Source(text).deliveryMethod != .pcast)
        }
    }

    @Test("the token is not disclosed")
    func secrets() {
        let source = Source("pcast://user:pass@a.example/abc#token=secret")
        #expect(source.name == "pcast://a.example/abc")
        #expect(Source("https://a.example/p/watch/abc#token=secret").name == "pcasts://a.example/p/abc")
        let address = StreamAddress(source.address)
        #expect(!String(describing: address).contains("secret") && !String(reflecting: address).contains("secret"))
        let endpoint = StreamAddress("wheps://secret@a.example/cam?key=secret#token=secret")
        #expect(endpoint?.name == "wheps://a.example/cam")
        #expect(!String(describing: endpoint).contains("secret") && !String(reflecting: endpoint).contains("secret"))
        #expect(Source("https://a.example/a.mp4?token=secret").name == "https://a.example/a.mp4")
    }
}

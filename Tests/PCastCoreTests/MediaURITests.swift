import PCastCore
import Testing

struct MediaURITests {
    @Test("an address is parsed, and printed with a number instead of its host")
    func parts() throws {
        let uri = try #require(MediaURI("rtsp://name:word@cameras.example/one?two=3#four"))
        #expect(uri.scheme == .rtsp)
        #expect(uri.userInfo == "name:word")
        #expect(uri.host == "cameras.example")
        #expect(uri.port == 554)
        let place = TransportAddress(ip: .loopbackV4, port: uri.port)
        #expect(uri.text(at: place) == "rtsp://name:word@127.0.0.1:554/one?two=3")
        // The stream ID of SRT begins with a number sign, and is no fragment.
        let view = try #require(MediaURI("srt://192.0.2.1:9000?streamid=#!::m=request,r=show"))
        #expect(view.path == "?streamid=#!::m=request,r=show" && view.port == 9_000)
        #expect(MediaURI("srt://192.0.2.1:9000#four")?.path == "")
        let six = try #require(MediaURI("srt://[2001:db8::1]:9000?mode=caller"))
        #expect(six.host == "2001:db8::1")
        #expect(six.port == 9_000)
        #expect(six.query("mode") == ["caller"])
    }

    @Test(
        "an ambiguous address is rejected",
        arguments: [
            "", "http:", "http://", "http:///path", "gopher://host/", "tcp://host:1", "concat:a|b", "srt://host",
            "http://a@b@c/", "http://host:0/", "http://host:99999/", "http://host:+80/", "http://host :80/",
            "http://host\\@other/", "http://[host]/", "http://[::1/", "http://%31%32%37.0.0.1/", "file://host/path",
            "file:path", "rtmp://host/app key=1", "http://host/\u{7F}", "http://hóst/",
        ])
    func ambiguous(_ text: String) { #expect(MediaURI(text) == nil) }

    @Test("the printed form of an address has no user, query or stream key")
    func secrets() throws {
        for text in [
            "rtmp://hidden:hidden@live.example/app/hidden?hidden=1", "srt://live.example:9000?passphrase=hidden",
            "https://hidden@live.example/path.m3u8?token=hidden",
        ] {
            let shown = "\(try #require(MediaURI(text)))"
            #expect(!shown.contains("hidden"), "\(shown)")
            #expect(shown.contains("live.example"))
        }
        #expect("\(try #require(MediaURI("rtmp://live.example/app/key")))" == "rtmp://live.example:1935/app")
    }

    @Test("only SRT has listeners, and the mode is stated once")
    func listeners() throws {
        #expect(try #require(MediaURI("srt://0.0.0.0:9000?mode=listener")).isListener)
        #expect(try !#require(MediaURI("srt://0.0.0.0:9000?mode=caller&mode=listener")).isListener)
        #expect(try !#require(MediaURI("http://0.0.0.0:9000/?mode=listener")).isListener)
    }
}

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

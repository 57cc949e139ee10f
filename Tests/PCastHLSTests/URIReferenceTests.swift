import PCastHLS
import Testing

@Suite("Addresses in playlists")
struct URIReferenceTests {
    /// RFC 3986, section 5.4.
    private static let examples = [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ]

    @Test("an address is resolved by RFC 3986", arguments: examples)
    func resolved(reference: String, target: String) {
        let base = URIReference("http://a/b/c/d;p?q")
        #expect(URIReference(reference).resolved(against: base).text == target)
    }

    @Test("a parsed address is printed unchanged", arguments: examples)
    func text(reference: String, target: String) {
        #expect(URIReference(reference).text == reference)
        #expect(URIReference(target).text == target)
    }

    @Test("a query's parameters are decoded, and the first of a name counts")
    func query() {
        let uri = URIReference("https://h/p?a=1&b%20c=x%2Fy&a=2&empty=&none&bad=%4&plus=%+1#a=3")
        #expect(uri.queryParameter("a") == "1")
        #expect(uri.queryParameter("b c") == "x/y")
        #expect(uri.queryParameter("empty")?.isEmpty == true)
        for name in ["none", "bad", "plus", "missing"] { #expect(uri.queryParameter(name) == nil) }
    }
}

import PCastCore
import PCastWeb
import Synchronization

/// The `Set-Cookie` fields of a response, one in each line behind the path of its request.
enum CookieTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let lines = bytes.split(separator: 0x0A, maxSplits: 256, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let fields = Array(lines.dropFirst())
        guard let address = try? WebAddress("https://media.films.example" + (lines.first ?? "")),
            address.host == "media.films.example"
        else { return false }
        let cookies = HTTPCookies()
        cookies.take(fields, from: address)
        let sent = cookies.field(for: address)
        if let sent {
            let size = fields.reduce(0) { $0 + $1.utf8.count + 2 }
            try check(sent.utf8.count <= size, "\(sent.utf8.count) bytes from fields of \(size)")
            try check(sent.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a field of several lines")
            try check(sent.utf8.count { $0 == UInt8(ascii: ";") } < 128, "too many cookies")
        }
        for host in ["films.example.org", "example", "192.0.2.1", "ilms.example"] {
            guard let other = try? WebAddress("https://\(host)\(address.path)") else { continue }
            try check(cookies.field(for: other) == nil, "cookies for \(host)")
        }
        var clear = address
        clear.isSecure = false
        let unprotected = cookies.field(for: clear)?.utf8.count ?? 0
        try check(unprotected <= sent?.utf8.count ?? 0, "more cookies without TLS")
        return sent != nil
    }

    static let corpus: [[UInt8]] = [
        "/a/b.m3u8?x=1\nid=1; Path=/a; Secure; HttpOnly\n b = 2 ;Domain=.films.example; Max-Age=60\nc=3; Max-Age=-1",
        "/\nsession=\"x=y\"; Expires=Wed, 21 Oct 2099 07:28:00 GMT; SameSite=None\n=nameless\n__Host-a=b;path=/;secure",
    ].map { Array($0.utf8) }
}

/// Coded content, as it arrives in pieces. The first byte selects the coding, and the second one the size of the pieces.
enum ContentCodingTarget {
    /// A few bytes may decode to many.
    private static let limit = 256 << 10
    /// The largest factor by which deflate expands its input (zlib's documentation: 1032:1).
    private static let largestFactor = 1_032

    static func run(_ bytes: [UInt8]) async throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let name = ["gzip", "deflate", "x-gzip"][Int(input.byte() % 3)]
        let size = Int(input.byte()) + 1
        let content = input.rest()
        let whole = try await decoded(content, name, size: max(content.count, 1))
        let divided = try await decoded(content, name, size: size)
        // Invalid data behind the limit may be found or not.
        if whole.bytes.count < limit {
            try check(whole == divided, "content that depends on the pieces of \(size) bytes")
        }
        try check(
            whole.bytes.count <= largestFactor * (content.count + 1), "\(whole.bytes.count) of \(content.count) bytes")
        guard whole.isValid, !whole.bytes.isEmpty else { return false }
        if let encoded = GzipEncoder.encode(whole.bytes) {
            let again = try await decoded(encoded, "gzip", size: encoded.count)
            try check(again == whole, "content that changed")
        }
        return true
    }

    private struct Decoded: Equatable {
        var isValid = true
        var bytes: [UInt8] = []
    }

    private static func decoded(
        _ content: [UInt8], _ name: String, size: Int
    ) async throws(BrokenInvariant) -> Decoded {
        guard let coding = ContentCoding(name) else { throw BrokenInvariant(description: "\(name) is unknown") }
        let collected = Mutex<[UInt8]>([])
        var position = 0
        var isValid = true
        while isValid, position < content.count, collected.withLock({ $0.count }) < limit {
            let piece = Array(content[position..<min(position + size, content.count)])
            isValid = await coding.decode(piece) { plain in
                collected.withLock { bytes in
                    bytes += plain
                    return bytes.count < limit
                }
            }
            position += piece.count
        }
        return Decoded(isValid: isValid, bytes: Array(collected.withLock { $0 }.prefix(limit)))
    }

    /// The text "hello hello hello hello" in gzip, twice and with padding, in zlib and without a header; and 70,000 zero
    /// bytes.
    static let corpus: [[UInt8]] = {
        let raw = hexadecimal("cb48cdc9c957c8402701")
        let gzip = hexadecimal("1f8b0800000000000203") + raw + hexadecimal("e3513d8d17000000")
        let zlib = hexadecimal("78da") + raw + hexadecimal("680308b1")
        let zeros = [UInt8](repeating: 0, count: 70_000)
        return [
            [0, 3] + gzip + gzip, [2, 0] + gzip + [0, 0x1F], [1, 255] + zlib, [1, 1] + raw,
            [0, 20] + (GzipEncoder.encode(zeros) ?? []),
        ]
    }()
}

/// The XML of an object store.
enum S3ResponseTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var isRead = false
        for element in ["UploadId", "ETag", "Code", "Message"] {
            guard let content = S3Text.content(of: element, in: bytes) else { continue }
            isRead = true
            // An invalid byte becomes a character of three bytes.
            try check(content.utf8.count <= 3 * S3Text.maximumLength, "\(content.utf8.count) bytes of \(element)")
            try check(content.utf8.allSatisfy { $0 >= 0x20 }, "a text of several lines")
            let escaped = S3Text.escaped(content)
            try check(!escaped.utf8.contains(UInt8(ascii: "<")), "a text with elements: \(escaped)")
            guard escaped.utf8.count <= S3Text.maximumLength else { continue }
            let again = S3Text.content(of: element, in: Array("<\(element)>\(escaped)</\(element)>".utf8))
            try check(again == content, "a text that changed: \(content)")
        }
        return isRead
    }

    static let corpus: [[UInt8]] = [
        """
        <?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code><Message>It&apos;s not there: a &lt; b
        </Message><Key>a/b</Key></Error>
        """,
        "<InitiateMultipartUploadResult><UploadId>VXBsb2Fk&amp;lt;x</UploadId></InitiateMultipartUploadResult>",
        "<CompleteMultipartUploadResult><ETag>&quot;3858f6&quot;&#34;</ETag></CompleteMultipartUploadResult>",
    ].map { Array($0.utf8) }
}

/// URIs, as in redirections, playlists and the messages of a platform.
enum WebAddressTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let escaped = WebURI.escaped(text)
        try check(WebURI.escaped(escaped) == escaped, "a URI that is escaped twice: \(escaped)")
        if let data = WebURI.data(text) {
            try check(data.bytes.count <= text.utf8.count, "\(data.bytes.count) bytes of \(text.utf8.count)")
        }
        guard let address = try? WebAddress(escaped) else { return WebURI.data(text) != nil }
        try check((0...65_535).contains(address.port) && !address.host.isEmpty, "no host or port: \(address)")
        try check(address.path.utf8.first == UInt8(ascii: "/"), "a path without a slash: \(address.path)")
        try check((try? WebAddress(address.origin + address.path)) == address, "an address that changed: \(address)")
        // The paths of WebSockets are not escaped.
        let isWebSocket = text.utf8.prefix(1).contains { $0 | 0x20 == UInt8(ascii: "w") }
        let isPlain = address.path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        try check(isPlain || isWebSocket, "a path that is not escaped: \(address.path)")
        return true
    }

    static let corpus: [[UInt8]] = [
        " https://media.example:8443/a b/%zz\\c?q=ä#f ", "HTTP://[2001:db8::1]:80", "wss://192.0.2.1/pcast?x=[1]",
        "data:text/plain;charset=utf-8;base64,aGVsbG8_", "data:,a%20b",
    ].map { Array($0.utf8) }
}

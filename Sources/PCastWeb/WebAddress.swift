/// The parts of an `http(s)://` or `ws(s)://` address (RFC 3986, section 3).
public struct WebAddress: Sendable, Hashable {
    public var isSecure: Bool
    /// A name or an IP address, IPv6 without its brackets.
    public var host: String
    public var port: Int
    /// With its query, beginning with `/`; a fragment is left out.
    public var path: String

    /// - Throws: `WebError.invalidURI`.
    public init(_ uri: String) throws(WebError) {
        // Nothing that could end a header's line, or that no address has.
        guard uri.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let separator = uri.firstRange(of: "://") else {
            throw .invalidURI(uri)
        }
        switch uri[..<separator.lowerBound].lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: throw .invalidURI(uri)
        }
        // By bytes, as clients and servers read it: a combining character behind a slash makes another character of both.
        let rest = uri[separator.upperBound...].utf8.prefix { $0 != UInt8(ascii: "#") }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        path = String(Substring(rest[end...]))
        if path.utf8.first != UInt8(ascii: "/") { path = "/" + path }
        guard let (host, port) = Self.authority(rest[..<end]) else { throw .invalidURI(uri) }
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
    }

    /// Host and port; nil for what is neither `NAME`, `NAME:PORT`, `[IPv6]` nor `[IPv6]:PORT`.
    private static func authority(_ text: Substring.UTF8View) -> (host: String, port: Int?)? {
        let colon = UInt8(ascii: ":")
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let host = text[..<bracket].dropFirst()
            let rest = text[bracket...].dropFirst()
            guard host.contains(colon), host.allSatisfy(isAddressByte) else { return nil }
            if rest.isEmpty { return (String(Substring(host)), nil) }
            guard rest.first == colon, let port = port(rest.dropFirst()) else { return nil }
            return (String(Substring(host)), port)
        }
        let parts = text.split(separator: colon, omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty,
            !host.contains(where: { "@[]\\<>\"%".utf8.contains($0) })
        else { return nil }
        guard parts.count == 2 else { return (String(Substring(host)), nil) }
        return port(parts[1]).map { (String(Substring(host)), $0) }
    }

    /// Digits alone: `UInt16` would take a sign too.
    private static func port(_ text: Substring.UTF8View) -> Int? {
        guard text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(Substring(text)).map(Int.init)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// The host is an IP address rather than a name.
    var isNumeric: Bool { host.contains(":") || host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } }

    /// Host and port as in a `Host` header, IPv6 in brackets.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Scheme, host and port, without a path: `http://127.0.0.1:8080`.
    public var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }
}

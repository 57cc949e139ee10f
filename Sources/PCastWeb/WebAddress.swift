/// The components of an `http`, `https`, `ws` or `wss` URI (RFC 3986, section 3).
package struct WebAddress: Sendable, Hashable {
    /// Whether the scheme uses TLS.
    package var isSecure: Bool
    /// The name or IP address, IPv6 without brackets.
    package var host: String
    /// The port; 80 or 443 if the URI has none.
    package var port: Int
    /// The path with the query, beginning with `/`, without the fragment.
    package var path: String

    /// Parses a URI.
    ///
    /// - Throws: ``WebError/invalidURI(_:)``.
    package init(_ uri: String) throws(WebError) {
        // Control characters and spaces are refused, because they could end the line of a header field.
        guard uri.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let separator = uri.firstRange(of: "://") else {
            throw .invalidURI(uri)
        }
        switch uri[..<separator.lowerBound].lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: throw .invalidURI(uri)
        }
        // Compares bytes, like clients and servers: a combining character after a slash would change the character.
        let rest = uri[separator.upperBound...].utf8.prefix { $0 != UInt8(ascii: "#") }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        path = String(Substring(rest[end...]))
        if path.utf8.first != UInt8(ascii: "/") { path = "/" + path }
        guard let (host, port) = Self.authority(rest[..<end]) else { throw .invalidURI(uri) }
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
    }

    /// Returns host and port; nil for a text that is neither `NAME`, `NAME:PORT`, `[IPv6]` nor `[IPv6]:PORT`.
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

    /// Whether the host is an IP address and not a name.
    var isNumeric: Bool { host.contains(":") || host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } }

    /// The host and port as in the `Host` field, IPv6 in brackets.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The scheme, host and port without a path, such as `http://127.0.0.1:8080`.
    package var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }
}

/// The parts of an `http(s)://` or `ws(s)://` address.
public struct WebAddress: Sendable, Hashable {
    public var isSecure: Bool
    public var host: String
    public var port: Int
    /// With its query, beginning with `/`.
    public var path: String

    /// - Throws: `WebError.invalidURI`.
    public init(_ uri: String) throws(WebError) {
        guard let separator = uri.firstRange(of: "://") else { throw .invalidURI(uri) }
        switch uri[..<separator.lowerBound].lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: throw .invalidURI(uri)
        }
        let rest = uri[separator.upperBound...]
        let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        path = slash == rest.endIndex ? "/" : String(rest[slash...])
        if path.hasPrefix("?") { path = "/" + path }
        var authority = rest[..<slash]
        port = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else { throw .invalidURI(uri) }
            port = Int(number)
            authority = authority[..<colon]
        }
        if authority.hasPrefix("["), authority.hasSuffix("]") { authority = authority.dropFirst().dropLast() }
        guard !authority.isEmpty, !authority.contains("@") else { throw .invalidURI(uri) }
        host = String(authority)
    }

    /// The host is an IP address rather than a name.
    var isNumeric: Bool { host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." } }

    /// Scheme, host and port, without a path: `http://127.0.0.1:8080`.
    public var origin: String {
        "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

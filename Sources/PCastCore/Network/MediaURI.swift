/// The URI of external media, from which a stream is pulled or to which it is pushed (RFC 3986, section 3).
///
/// Parsing is strict: the parts are joined again for the library that opens the URI, so both see the same host.
package struct MediaURI: Hashable, Sendable {
    /// The supported URI schemes.
    package enum Scheme: String, Hashable, Sendable, CaseIterable {
        case http, https, rtsp, srt, rtmp, rtmps, file
        /// WHIP and WHEP over HTTP and HTTPS (RFC 9725, draft-ietf-wish-whep).
        case whip, whips, whep, wheps
    }

    /// The scheme.
    package let scheme: Scheme
    /// The user name and password before the host, still percent-encoded; nil if absent.
    package let userInfo: String?
    /// A name or an address, IPv6 without brackets; empty for a file.
    package let host: String
    /// The port; the default of the scheme if absent, and 0 for a file.
    package let port: UInt16
    /// The path and query that follow the authority.
    package let path: String

    private static let longest = 4_096

    /// Parses a URI; nil if it is not supported, is longer than 4,096 bytes, or is ambiguous.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.isPlain),
            let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"),
            let scheme = Scheme(rawValue: text[..<colon].lowercased())
        else { return nil }
        // The stream ID of SRT begins with “#!::”. Programs write it in the query as it is, so it is no fragment.
        var isQueryOfSRT = false
        let rest = text[text.index(colon, offsetBy: 3)...].prefix { character in
            if character == "?", scheme == .srt { isQueryOfSRT = true }
            return isQueryOfSRT || character != "#"
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        self.scheme = scheme
        path = String(rest[end...])
        var authority = rest[..<end]
        if scheme == .file {
            guard authority.isEmpty, path.hasPrefix("/") else { return nil }
            (userInfo, host, port) = (nil, "", 0)
            return
        }
        if let sign = authority.firstIndex(of: "@") {
            userInfo = String(authority[..<sign])
            authority = authority[authority.index(after: sign)...]
        } else {
            userInfo = nil
        }
        guard let (host, port) = Self.hostAndPort(authority), let port = port ?? scheme.defaultPort else { return nil }
        (self.host, self.port) = (host, port)
    }

    /// Returns whether a byte is printable ASCII that all parsers read in the same way.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\\\"<>^`{|}".utf8.contains(byte)
    }

    private static func hostAndPort(_ text: Substring) -> (host: String, port: UInt16?)? {
        var (host, rest) = (text, Substring())
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            host = text[..<bracket].dropFirst()
            rest = text[bracket...].dropFirst()
            guard IPAddress(String(host))?.family == .v6 else { return nil }
        } else if let colon = text.firstIndex(of: ":") {
            (host, rest) = (text[..<colon], text[colon...])
        }
        guard !host.isEmpty, !host.contains(where: { "@[]%".contains($0) }) else { return nil }
        if rest.isEmpty { return (String(host), nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits), port > 0
        else { return nil }
        return (String(host), port)
    }

    /// Returns the URI with the host replaced by a resolved address, so that the name is not resolved a second time.
    package func text(at address: TransportAddress) -> String {
        "\(scheme.rawValue)://\(userInfo.map { $0 + "@" } ?? "")\(address)\(path)"
    }

    /// Returns all values of a parameter of the query.
    package func query(_ name: String) -> [String] {
        guard let mark = path.firstIndex(of: "?") else { return [] }
        return path[mark...].dropFirst().split(separator: "&").filter { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    /// Whether the remote peer connects to this URI instead of the reverse, as for `srt://0.0.0.0:PORT?mode=listener`.
    package var isListener: Bool { scheme == .srt && query("mode") == ["listener"] }
}

extension MediaURI.Scheme {
    /// The default port; nil for SRT, which has none, and for files.
    var defaultPort: UInt16? {
        switch self {
        case .http, .whip, .whep: 80
        case .https, .rtmps, .whips, .wheps: 443
        case .rtsp: 554
        case .rtmp: 1935
        case .srt, .file: nil
        }
    }
}

extension MediaURI: CustomStringConvertible {
    /// The URI without parts that may be secret: user information, query and, for RTMP, the stream key.
    package var description: String {
        var shown = path.prefix { $0 != "?" }
        if scheme == .rtmp || scheme == .rtmps {
            shown = shown.dropFirst().prefix { $0 != "/" }
            shown = shown.isEmpty ? "" : "/" + shown
        }
        let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        return "\(scheme.rawValue)://\(scheme == .file ? "" : authority)\(shown)"
    }
}

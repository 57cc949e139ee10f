import PCastCore

/// A request of a program to an HTTP proxy (RFC 9112, section 3.2): a tunnel to a host, or a resource of a host.
struct ProxyRequest: Equatable {
    let host: String
    let port: UInt16
    /// The head to send to the host instead of the request's own; nil for a tunnel.
    let head: [UInt8]?

    /// Parses the head of a request up to its empty line; nil if it is not a valid request to a proxy.
    init?(_ text: String) {
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
        guard !lines.isEmpty else { return nil }
        let words = lines.removeFirst().split(separator: " ")
        guard words.count == 3 else { return nil }
        if words[0] == "CONNECT" {
            guard let target = MediaURI("https://\(words[1])") else { return nil }
            (host, port, head) = (target.host, target.port, nil)
            return
        }
        guard let target = MediaURI(String(words[1])), target.scheme == .http else { return nil }
        (host, port) = (target.host, target.port)
        // Each connection carries one request, because the next one may be for another host, which would not be
        // checked.
        let kept = lines.filter { line in
            let name = line.prefix { $0 != ":" }.lowercased()
            return name != "connection" && name != "proxy-connection" && name != "proxy-authorization"
        }
        let path = target.path.hasPrefix("/") ? target.path : "/" + target.path
        let first = "\(words[0]) \(path) \(words[2])"
        head =
            Array(([Substring(first)] + kept + ["Connection: close"]).joined(separator: "\r\n").utf8)
            + Array("\r\n\r\n".utf8)
    }
}

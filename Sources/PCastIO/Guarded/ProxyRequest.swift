import PCastMedia

/// What a program asks of a proxy (RFC 9112, section 3.2): a tunnel to a host, or a resource of one.
struct ProxyRequest: Equatable {
    let host: String
    let port: UInt16
    /// What the host is sent in place of the request's head; nil for a tunnel.
    let head: [UInt8]?

    /// - Parameter text: the head up to its empty line.
    /// - Returns: nil for what is no such request.
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
        // One connection for each request: the next may be for another host, which nobody would have judged.
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

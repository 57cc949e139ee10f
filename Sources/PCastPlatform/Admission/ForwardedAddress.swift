import PCastMedia

/// The addresses that proxies have written into the header of a request.
///
/// Any client can write such fields. Therefore they are read from the right, where the directly connected proxy writes,
/// and only as far as each writer is trusted. Only the configured field is read, because the proxy forwards other
/// fields as the client has written them.
struct ForwardedAddress: Sendable {
    /// The addresses from left to right: the client is first. Nil for text that is not an address.
    private let hops: [IPAddress?]

    /// The maximum number of addresses to read, which exceeds any realistic chain of proxies.
    private static let maximumHops = 32

    /// Parses all values of the field, in order.
    init(_ field: ProxyField, _ values: [String]) {
        let texts =
            switch field {
            case .forwarded: values.flatMap { Self.elements($0, "for") }
            case .forwardedFor: values.flatMap { $0.split(separator: ",").map(String.init) }
            }
        hops = texts.suffix(Self.maximumHops).map { Self.address($0) }
    }

    /// Whether the request has no such field.
    var isEmpty: Bool { hops.isEmpty }

    /// Whether the directly connected proxy has written an address.
    var hasLast: Bool { hops.last.map { $0 != nil } ?? false }

    /// Returns the last address that is not a trusted proxy, where `peer` is the directly connected address. It is the
    /// peer itself if that is not trusted; nil if `peer` is nil.
    func address(of peer: IPAddress?, trusting proxies: [IPNetwork]) -> IPAddress? {
        guard var address = peer else { return nil }
        for hop in hops.reversed() {
            guard proxies.contains(where: { $0.contains(address) }) else { return address }
            // A proxy may hide the address by `unknown` or an obfuscated identifier (RFC 7239, section 6). Then the
            // proxy's own address is the last known one.
            guard let hop else { return address }
            address = hop
        }
        return address
    }

    /// Returns whether the directly connected proxy reports a request by HTTPS. `values` returns the values of the
    /// header fields with a name.
    static func isSecure(_ field: ProxyField, _ values: (String) -> [String]) -> Bool {
        let schemes =
            switch field {
            case .forwarded: values(field.rawValue).flatMap { elements($0, "proto") }
            case .forwardedFor:
                values("x-forwarded-proto").flatMap { $0.split(separator: ",").map(String.init) }
            }
        return schemes.last?.trimming.lowercased().replacing("\"", with: "") == "https"
    }

    /// Returns a parameter of each element (RFC 7239, section 4); empty text for an element without it.
    private static func elements(_ field: String, _ name: String) -> [String] {
        split(field, at: ",").map { element in
            for pair in split(element, at: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].trimming.lowercased() == name else { continue }
                return String(parts[1])
            }
            return ""
        }
    }

    /// Splits text at separators outside quoted strings.
    private static func split(_ text: String, at separator: Character) -> [Substring] {
        var isQuoted = false
        var parts: [Substring] = []
        var start = text.startIndex
        for index in text.indices {
            if text[index] == "\"" { isQuoted.toggle() }
            guard text[index] == separator, !isQuoted else { continue }
            parts.append(text[start..<index])
            start = text.index(after: index)
        }
        return parts + [text[start...]]
    }

    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
        split(String(text), at: separator)
    }

    /// Parses `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `"[2001:db8::1]:4711"`; nil for other
    /// text.
    private static func address(_ text: String) -> IPAddress? {
        var node = text.trimming[...]
        if node.hasPrefix("\""), node.hasSuffix("\""), node.count >= 2 { node = node.dropFirst().dropLast() }
        if node.hasPrefix("["), let end = node.firstIndex(of: "]") {
            return IPAddress(String(node[..<end].dropFirst()))
        }
        if let address = IPAddress(String(node)) { return address }
        guard let colon = node.lastIndex(of: ":") else { return nil }
        return IPAddress(String(node[..<colon]))
    }
}

extension StringProtocol {
    fileprivate var trimming: String {
        var text = self[...]
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        return String(text)
    }
}

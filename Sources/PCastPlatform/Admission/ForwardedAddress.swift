import PCastMedia

/// What proxies have written into a request about who asks.
///
/// Everybody can write such fields, so that they are read from the right, where the proxy has written that we are
/// connected to, and only as far to the left as everyone who wrote is trusted. And one field alone is read, the one that the
/// operator's proxy writes: the other it hands on as the client has written it.
struct ForwardedAddress: Sendable {
    /// From left to right: the client first, the last proxy but one at the end; nil for what is no address.
    private let hops: [IPAddress?]

    /// Addresses that are looked at; what is further left is of no proxy that anybody has.
    private static let maximumHops = 32

    /// - Parameter values: of all fields of that name, in their order.
    init(_ field: ProxyField, _ values: [String]) {
        let texts =
            switch field {
            case .forwarded: values.flatMap { Self.elements($0, "for") }
            case .forwardedFor: values.flatMap { $0.split(separator: ",").map(String.init) }
            }
        hops = texts.suffix(Self.maximumHops).map { Self.address($0) }
    }

    /// Nobody has written any.
    var isEmpty: Bool { hops.isEmpty }

    /// Whether the proxy that we are connected to has written an address.
    var hasLast: Bool { hops.last.map { $0 != nil } ?? false }

    /// - Parameter peer: who we are connected to.
    /// - Returns: the last one that is no trusted proxy; the peer itself when that is none.
    func address(of peer: IPAddress?, trusting proxies: [IPNetwork]) -> IPAddress? {
        guard var address = peer else { return nil }
        for hop in hops.reversed() {
            guard proxies.contains(where: { $0.contains(address) }) else { return address }
            // A proxy that does not tell, as by `unknown` or an obfuscated name, is as far as it is known.
            guard let hop else { return address }
            address = hop
        }
        return address
    }

    /// Whether the proxy that we are connected to says that it was asked by HTTPS.
    ///
    /// - Parameter values: of the fields of a name.
    static func isSecure(_ field: ProxyField, _ values: (String) -> [String]) -> Bool {
        let schemes =
            switch field {
            case .forwarded: values(field.rawValue).flatMap { elements($0, "proto") }
            case .forwardedFor:
                values("x-forwarded-proto").flatMap { $0.split(separator: ",").map(String.init) }
            }
        return schemes.last?.trimming.lowercased().replacing("\"", with: "") == "https"
    }

    /// A parameter of each element (RFC 7239, section 4); empty where it has none.
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

    /// At separators that do not stand in quotes.
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

    /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `"[2001:db8::1]:4711"`.
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

package import PCastCore

/// The addresses that proxies have written into the header of a request.
///
/// Any client can write such fields. Therefore they are read from the right, where the directly connected proxy writes,
/// and only as far as each writer is trusted. Only the configured field is read, because the proxy forwards other
/// fields as the client has written them.
package struct ForwardedAddress: Sendable {
    /// The addresses from left to right: the client is first. Nil for text that is not an address.
    private let hops: [IPAddress?]

    /// Whether a value contains bytes that no proxy writes, so that it was forged.
    private let isMalformed: Bool

    /// The maximum number of addresses that are examined. Further addresses are not from a real chain of proxies.
    private static let maximumHops = 32

    /// Parses the values of all header fields with the given name, in order.
    ///
    /// Proxies append bytes, so the parser works on bytes: a `Character` may join a comma with what a client wrote
    /// before it.
    package init(_ field: ForwardedHeader, _ values: [String]) {
        isMalformed = !values.allSatisfy(Self.isPlain)
        let texts: [Substring.UTF8View] =
            switch field {
            case .forwarded: values.flatMap { Self.elements($0, "for") }
            case .forwardedFor: values.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            }
        hops = texts.suffix(Self.maximumHops).map { Self.address($0) }
    }

    /// Whether the request has no such field.
    var isEmpty: Bool { hops.isEmpty }

    /// Whether the proxy at the other end of the connection has written an address, and everything else is well formed.
    var hasLast: Bool { !isMalformed && (hops.last.map { $0 != nil } ?? false) }

    /// Returns the last address that is not a trusted proxy, where `peer` is the directly connected address. It is the
    /// peer itself if that is not trusted; nil if `peer` is nil.
    package func address(of peer: IPAddress?, trusting proxies: [IPNetwork]) -> IPAddress? {
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
    package static func isSecure(_ field: ForwardedHeader, _ values: (String) -> [String]) -> Bool {
        let fields = values(field == .forwarded ? field.rawValue : "x-forwarded-proto")
        guard fields.allSatisfy(isPlain) else { return false }
        let schemes: [Substring.UTF8View] =
            switch field {
            case .forwarded: fields.flatMap { elements($0, "proto") }
            case .forwardedFor: fields.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            }
        guard let scheme = schemes.last else { return false }
        return Substring(unquoted(trimmed(scheme))).lowercased() == "https"
    }

    // MARK: Bytes

    /// Whether a value holds printable ASCII, spaces and tabs alone.
    private static func isPlain(_ value: String) -> Bool {
        value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// Returns a parameter of each element (RFC 7239, section 4); empty if it has none. If quotes are open at the end,
    /// it returns one empty element, because the text of the last proxy is inside them.
    private static func elements(_ field: String, _ name: String) -> [Substring.UTF8View] {
        guard let elements = split(field.utf8[...], at: UInt8(ascii: ",")) else { return [""[...].utf8] }
        return elements.map { element in
            for pair in split(element, at: UInt8(ascii: ";")) ?? [] {
                guard let sign = pair.firstIndex(of: UInt8(ascii: "=")),
                    Substring(trimmed(pair[..<sign])).lowercased() == name
                else { continue }
                return pair[pair.index(after: sign)...]
            }
            return ""[...].utf8
        }
    }

    /// Splits a text at separators outside of quotes (RFC 9110, section 5.6.4); nil if quotes are not closed.
    private static func split(_ text: Substring.UTF8View, at separator: UInt8) -> [Substring.UTF8View]? {
        var isQuoted = false
        var isEscaped = false
        var parts: [Substring.UTF8View] = []
        var start = text.startIndex
        for index in text.indices {
            let byte = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == separator, !isQuoted {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        return text
    }

    private static func unquoted(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let quote = UInt8(ascii: "\"")
        guard text.count >= 2, text.first == quote, text.last == quote else { return text }
        return text.dropFirst().dropLast()
    }

    /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `"[2001:db8::1]:4711"`, and nothing else.
    private static func address(_ text: Substring.UTF8View) -> IPAddress? {
        let node = unquoted(trimmed(text))
        if node.first == UInt8(ascii: "["), let end = node.firstIndex(of: UInt8(ascii: "]")) {
            guard isPort(node[node.index(after: end)...]) else { return nil }
            return IPAddress(String(Substring(node[..<end].dropFirst())))
        }
        if let address = IPAddress(String(Substring(node))) { return address }
        guard let colon = node.lastIndex(of: UInt8(ascii: ":")), isPort(node[colon...]),
            let address = IPAddress(String(Substring(node[..<colon]))), address.family == .v4
        else { return nil }
        return address
    }

    /// Nothing, or a colon and one to five digits.
    private static func isPort(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first else { return true }
        let digits = text.dropFirst()
        return first == UInt8(ascii: ":") && (1...5).contains(digits.count)
            && digits.allSatisfy { (0x30...0x39).contains($0) }
    }
}

/// The header field in which a proxy reports the client.
public enum ForwardedHeader: String, CaseIterable, Sendable {
    /// The field `X-Forwarded-For`, which no standard defines.
    case forwardedFor = "x-forwarded-for"
    /// The field `Forwarded` (RFC 7239).
    case forwarded
}

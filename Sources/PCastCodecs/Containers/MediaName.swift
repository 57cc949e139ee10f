/// Conversions of paths and addresses for libavformat and for error messages.
package enum MediaName {
    /// libavformat's schemes that are written without `//`.
    private static let schemes = ["file", "data", "pipe", "fd", "concat", "crypto", "subfile", "async", "cache"]

    /// Returns the name to pass to libavformat. A path gets the prefix `file:`, because libavformat would otherwise
    /// read a colon in its name as a protocol.
    ///
    /// A text is an address if it has a scheme followed by `//`, or a scheme that needs none. Everything else is a
    /// path.
    static func location(_ text: String) -> String {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return text }
        let scheme = text[..<colon]
        let rest = text[text.utf8.index(after: colon)...]
        let isScheme = !scheme.isEmpty && scheme.utf8.allSatisfy(isSchemeByte)
        let isAddress = isScheme && (rest.hasPrefix("//") || schemes.contains(scheme.lowercased()))
        guard isAddress else { return "file:" + text }
        if scheme.lowercased() == "file", rest.hasPrefix("//") { return "file:" + decodedPath(rest.dropFirst(2)) }
        return text
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "+-.".utf8.contains(byte)
    }

    /// Returns the path of a `file:` URI (RFC 8089), without the host and without percent encoding.
    private static func decodedPath(_ text: Substring) -> String {
        let path = text.firstIndex(of: "/").map { text[$0...] } ?? text
        var bytes: [UInt8] = []
        var rest = path.utf8[...]
        while let byte = rest.popFirst() {
            let digits = String(Substring(rest.prefix(2)))
            if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the address without user name, password, query and fragment, so that it may be shown.
    package static func withoutSecrets(_ uri: String) -> String {
        guard let scheme = uri.range(of: "://") else { return uri }
        var rest = uri[scheme.upperBound...]
        if let query = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) { rest = rest[..<query] }
        let path = rest.firstIndex(of: "/") ?? rest.endIndex
        if let sign = rest[..<path].lastIndex(of: "@") { rest = rest[rest.index(after: sign)...] }
        return String(uri[..<scheme.upperBound] + rest)
    }
}

extension String {
    fileprivate func range(of separator: String) -> Range<Index>? {
        let wanted = Array(separator.utf8)
        var index = startIndex
        while index < endIndex {
            if self[index...].utf8.starts(with: wanted) {
                return index..<utf8.index(index, offsetBy: wanted.count)
            }
            index = self.index(after: index)
        }
        return nil
    }
}

/// A URI or relative reference, divided into its components (RFC 3986, sections 3 and 4.1).
///
/// Nothing is decoded or validated, so the text of a playlist reaches the HTTP client byte for byte.
package struct URIReference: Hashable, Sendable {
    /// The scheme without its colon; nil if the reference is relative.
    package var scheme: String?
    /// The authority after `//`, with user information and port; nil if there is none.
    package var authority: String?
    /// The path, which may be empty.
    package var path: String
    /// The query after the question mark; nil if there is none.
    package var query: String?
    /// The fragment after the number sign; nil if there is none.
    package var fragment: String?

    /// Divides a text into components. Each text is accepted.
    package init(_ text: String) {
        var rest = text[...].utf8
        let (beforeFragment, fragment) = rest.divided(at: "#")
        self.fragment = fragment?.string
        let (beforeQuery, query) = beforeFragment.divided(at: "?")
        self.query = query?.string
        rest = beforeQuery
        let (head, tail) = rest.divided(at: ":")
        if let tail, Self.isScheme(head) {
            scheme = head.string
            rest = tail
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = rest[..<end].string
            rest = rest[end...]
        }
        path = rest.string
    }

    private static func isScheme(_ text: PlaylistText) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
        guard let first = text.first, isLetter(first) else { return false }
        return text.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }

    /// The reference as text, which equals the text that it was created from.
    package var text: String {
        var text = scheme.map { $0 + ":" } ?? ""
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// Returns the URI that this reference denotes in a document (RFC 3986, section 5.2).
    ///
    /// - Parameter base: The URI of the document after redirects.
    /// - Returns: The absolute URI if `base` is absolute.
    package func resolved(against base: URIReference) -> URIReference {
        var target = self
        if scheme != nil {
            target.path = Self.withoutDots(path)
            return target
        }
        target.scheme = base.scheme
        if authority != nil {
            target.path = Self.withoutDots(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if path.hasPrefix("/") {
            target.path = Self.withoutDots(path)
        } else if base.authority != nil, base.path.isEmpty {
            target.path = Self.withoutDots("/" + path)
        } else {
            let folder = base.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { base.path[...$0] } ?? ""
            target.path = Self.withoutDots(folder + path)
        }
        return target
    }

    /// Removes the segments `.` and `..` from a path (RFC 3986, section 5.2.4).
    private static func withoutDots(_ path: some StringProtocol) -> String {
        let path = String(path)
        guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
        let isAbsolute = path.hasPrefix("/")
        let pieces = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        var kept: [String] = []
        for (index, piece) in pieces.enumerated() {
            let isLast = index == pieces.count - 1
            switch piece {
            case ".":
                if isLast { kept.append("") }
            case "..":
                if kept.count > (isAbsolute ? 1 : 0) { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(piece)
            }
        }
        return kept.joined(separator: "/")
    }

    /// Returns the percent-decoded value of the first query parameter with a name; nil if there is none or it is not
    /// UTF-8.
    package func queryParameter(_ name: String) -> String? {
        guard let query else { return nil }
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let (key, value) = Substring(pair).utf8.divided(at: "=")
            if Self.decoded(key) == name { return value.flatMap(Self.decoded) }
        }
        return nil
    }

    /// Decodes percent-encoded bytes. Returns nil if an escape is malformed or the result is not UTF-8.
    private static func decoded(_ text: PlaylistText) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.first {
            if byte == UInt8(ascii: "%") {
                let digits = rest.dropFirst().prefix(2)
                guard digits.count == 2, digits.first != UInt8(ascii: "+"), let value = UInt8(digits.string, radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

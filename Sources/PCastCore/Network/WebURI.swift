/// Functions that normalize `http`, `https` and `data` URIs.
package enum WebURI {
    /// Returns the URI with all characters percent-encoded that may not occur in it, as browsers do (URL Standard,
    /// section 4.4): spaces, non-ASCII characters, brackets and others. Existing percent-encoding does not change.
    ///
    /// Surrounding white space, line breaks and the fragment are removed. A URI of another scheme than `http` and
    /// `https` is returned as it is.
    package static func escaped(_ text: String) -> String {
        let plain = String(
            decoding: text.utf8.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        let trimmed = plain.drop { $0.utf8.allSatisfy { $0 <= 0x20 } }
        let lower = trimmed.prefix(8).lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else { return text }
        let scheme = lower.hasPrefix("https") ? 8 : 7
        var bytes = Array(trimmed.utf8)
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        let separators = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\")]
        let authorityEnd = bytes.dropFirst(scheme).firstIndex(where: separators.contains) ?? bytes.count
        var result = Array(bytes[..<authorityEnd])
        var isQuery = false
        var index = authorityEnd
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "?") { isQuery = true }
            switch byte {
            // Browsers treat a backslash as a slash.
            case UInt8(ascii: "\\") where !isQuery: result.append(UInt8(ascii: "/"))
            case UInt8(ascii: "%") where !isEncoding(bytes[index...]): result += encoded(byte)
            case UInt8(ascii: "%"): result.append(byte)
            default: result += isPlain(byte) ? [byte] : encoded(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isEncoding(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.count >= 2 && rest.prefix(2).allSatisfy { digitValue($0) != nil }
    }

    private static func digitValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 0x37
        default: nil
        }
    }

    private static func encoded(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Returns whether a byte is an unreserved or reserved character (RFC 3986, section 2), except brackets, which only
    /// IPv6 hosts contain.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "-._~:/?@!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// Returns the media type and the bytes of a `data:` URI (RFC 2397); nil for another URI or invalid base64.
    package static func data(_ text: String) -> (type: String, bytes: [UInt8])? {
        guard text.prefix(5).lowercased() == "data:", let comma = text.utf8.firstIndex(of: UInt8(ascii: ",")) else {
            return nil
        }
        let header = text[text.utf8.index(text.startIndex, offsetBy: 5)..<comma].split(
            separator: ";", omittingEmptySubsequences: false)
        let declared = header.first.map { $0.lowercased() } ?? ""
        let type = declared.isEmpty ? "text/plain" : declared
        let body = decoded(text[text.utf8.index(after: comma)...].utf8)
        guard header.dropFirst().contains(where: { $0.lowercased() == "base64" }) else {
            return (type, body)
        }
        var digits = body.filter { $0 > 0x20 }.map { byte -> UInt8 in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        while digits.count % 4 != 0 { digits.append(UInt8(ascii: "=")) }
        return Base64.decode(String(decoding: digits, as: UTF8.self)).map { (type, $0) }
    }

    private static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
        let bytes = Array(text)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digitValue(bytes[index + 1]),
                let low = digitValue(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}

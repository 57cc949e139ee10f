import PCastCore

/// Checks of a callback's components, as in the OpenAPI description.
enum CallbackText {
    /// Returns whether text is a valid name.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { isWord($0) }
    }

    /// Returns whether text is a host name or an IP address.
    static func isHost(_ text: String) -> Bool {
        if text.contains(":") { return IPAddress(text) != nil }
        return text.utf8.count <= 253
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                !label.isEmpty && label.utf8.allSatisfy { isWord($0) }
            }
    }

    static func isPath(_ text: String) -> Bool {
        text.utf8.count <= 900 && text.utf8.allSatisfy { isWord($0) || pathMarks.contains($0) }
    }

    static func isQuery(_ text: String) -> Bool {
        text.utf8.count <= 900
            && text.utf8.allSatisfy { isWord($0) || pathMarks.contains($0) || $0 == UInt8(ascii: "?") }
    }

    /// The permitted characters besides letters, digits, dash and underscore: those of RFC 3986, section 3.3, and the
    /// slash.
    private static let pathMarks = Set(".~!$&'()*+,;=:@%/".utf8)

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

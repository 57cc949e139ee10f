/// Removes tokens and keys from a log line. A secret begins after a known mark and ends at the next space, quote or
/// separator.
enum SecretRedaction {
    /// The marks in lower case, which are compared without regard to case.
    private static let marks: [[UInt8]] = [
        "digest:", "digest%3a", "bearer ", "basic ", "token=", "token:", "secret=", "password=", "credential=",
        "ice-pwd:",
    ].map { Array($0.utf8) }

    private static let separators = Set(" \t\r\n&\"'<>(),;[]{}".utf8)
    private static let replacement = Array("…".utf8)

    /// Returns the text with each secret replaced by an ellipsis.
    static func redact(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard let mark = marks.first(where: { begins($0, in: bytes, at: index) }) else {
                result.append(bytes[index])
                index += 1
                continue
            }
            result += bytes[index..<index + mark.count]
            index += mark.count
            // Spaces may separate a mark from its secret.
            while index < bytes.count, bytes[index] == UInt8(ascii: " ") {
                result.append(bytes[index])
                index += 1
            }
            let end = bytes[index...].firstIndex(where: separators.contains) ?? bytes.endIndex
            if end > index { result += replacement }
            index = end
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns whether the mark is at the index.
    private static func begins(_ mark: [UInt8], in bytes: [UInt8], at index: Int) -> Bool {
        guard bytes.count - index >= mark.count else { return false }
        return mark.indices.allSatisfy { lower(bytes[index + $0]) == mark[$0] }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

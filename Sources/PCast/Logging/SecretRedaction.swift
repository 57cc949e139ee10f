/// Takes tokens and keys out of a line of a log: what stands behind a word that announces one, up to the next space,
/// quote or separator.
enum SecretRedaction {
    /// In lower case, as they are compared.
    private static let marks: [[UInt8]] = [
        "digest:", "digest%3a", "bearer ", "basic ", "token=", "token:", "secret=", "password=", "credential=",
        "ice-pwd:",
    ].map { Array($0.utf8) }

    private static let separators = Set(" \t\r\n&\"'<>(),;[]{}".utf8)
    private static let replacement = Array("…".utf8)

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
            // A mark and its secret may be a space apart.
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

    private static func begins(_ mark: [UInt8], in bytes: [UInt8], at index: Int) -> Bool {
        guard bytes.count - index >= mark.count else { return false }
        return mark.indices.allSatisfy { lower(bytes[index + $0]) == mark[$0] }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

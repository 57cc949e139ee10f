/// The base64 encoding (RFC 4648, section 4): the standard alphabet with padding, on one line.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The value of each character; 255 for those outside the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    private static let padding = UInt8(ascii: "=")

    /// Returns the encoded text with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encodedBytes(bytes), as: UTF8.self)
    }

    private static func encodedBytes(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[index + 2]) }
            text.append(alphabet[Int(group >> 18)])
            text.append(alphabet[Int(group >> 12 & 63)])
            text.append(count > 1 ? alphabet[Int(group >> 6 & 63)] : padding)
            text.append(count > 2 ? alphabet[Int(group & 63)] : padding)
            index += count
        }
        return text
    }

    /// Decodes text; nil if it has a character outside the alphabet, a wrong length, or nonzero unused bits (RFC 4648,
    /// section 3.5). Padding is optional, but must be correct if present.
    public static func decode(_ text: String) -> [UInt8]? {
        decode(Array(text.utf8))
    }

    /// Decodes text that is given as ASCII bytes, like the function for strings.
    public static func decode(_ text: [UInt8]) -> [UInt8]? {
        var end = text.count
        if end % 4 == 0, end > 0, text[end - 1] == padding {
            end -= text[end - 2] == padding ? 2 : 1
        }
        guard end % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(end / 4 * 3 + 2)
        var pending: UInt32 = 0
        var bitCount = 0
        for character in text[..<end] {
            let value = values[Int(character)]
            guard value != 255 else { return nil }
            pending = (pending << 6 | UInt32(value)) & 0xFFFF
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bitCount)))
            }
        }
        guard pending & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
        return bytes
    }
}

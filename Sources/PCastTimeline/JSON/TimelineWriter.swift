/// Writes compact JSON, in UTF-8.
struct TimelineWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: TimelineValue) {
        switch value {
        case .null: append("null")
        case .boolean(let boolean): append(boolean ? "true" : "false")
        case .number(let number): append(number.text)
        case .string(let string): write(string)
        case .array(let values):
            append("[")
            for (index, value) in values.enumerated() {
                if index > 0 { append(",") }
                write(value)
            }
            append("]")
        case .object(let object):
            append("{")
            for (index, member) in object.members.enumerated() {
                if index > 0 { append(",") }
                write(member.name)
                append(":")
                write(member.value)
            }
            append("}")
        }
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func write(_ string: String) {
        append("\"")
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0x0A: append("\\n")
            case 0x0D: append("\\r")
            case 0x09: append("\\t")
            case 0..<0x20: append((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
            default: bytes.append(byte)
            }
        }
        append("\"")
    }
}

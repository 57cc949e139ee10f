/// Writes compact JSON with the same bytes as `JSON.stringify` (ECMA-262, section 25.5.2).
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write(raw: "null")
        case .boolean(let boolean): write(raw: boolean ? "true" : "false")
        case .number(let number): bytes.append(contentsOf: number.text.utf8)
        case .string(let string): write(string)
        case .array(let values):
            writeList("[", values, "]") { $0.write($1) }
        case .object(let object):
            writeList("{", object.members, "}") {
                $0.write($1.name)
                $0.write(raw: ":")
                $0.write($1.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ opening: StaticString, _ elements: [Element], _ closing: StaticString,
        _ writeElement: (inout JSONWriter, Element) -> Void
    ) {
        write(raw: opening)
        for (index, element) in elements.enumerated() {
            if index > 0 { write(raw: ",") }
            writeElement(&self, element)
        }
        write(raw: closing)
    }

    private mutating func write(raw text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func write(_ string: String) {
        write(raw: "\"")
        for byte in string.utf8 {
            switch byte {
            case 0x08: write(raw: #"\b"#)
            case 0x09: write(raw: #"\t"#)
            case 0x0A: write(raw: #"\n"#)
            case 0x0C: write(raw: #"\f"#)
            case 0x0D: write(raw: #"\r"#)
            case UInt8(ascii: "\""): write(raw: #"\""#)
            case UInt8(ascii: "\\"): write(raw: #"\\"#)
            case 0..<0x20:
                write(raw: byte < 0x10 ? #"\u000"# : #"\u00"#)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        write(raw: "\"")
    }
}

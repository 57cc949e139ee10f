/// A value of JSON (RFC 8259) as the wire between pages and overlays holds it.
///
/// Whole numbers that 64 bits hold stay whole. An object says each name once.
public enum OverlayJSON: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([OverlayJSON])
    case object([String: OverlayJSON])

    /// - Throws: what is wrong with the text, or which bound it breaks.
    public init(text: String) throws(OverlayWireError) {
        guard text.utf8.count <= OverlayEnvelope.sizeLimit else { throw .tooLarge }
        var reader = OverlayJSONReader(Array(text.utf8))
        self = try reader.readAll()
    }

    /// As text, names in their order, in one line. Numbers that JSON has no word for are null.
    public var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += "\(value)"
        case .number(let value): text += value.isFinite ? "\(value)" : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                Self.write(member.key, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension OverlayJSON {
    public var string: String? { if case .string(let string) = self { string } else { nil } }
    public var boolean: Bool? { if case .boolean(let boolean) = self { boolean } else { nil } }
    public var array: [OverlayJSON]? { if case .array(let array) = self { array } else { nil } }
    public var object: [String: OverlayJSON]? { if case .object(let object) = self { object } else { nil } }

    /// Nil for what is no whole number.
    public var integer: Int64? {
        switch self {
        case .integer(let integer): integer
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }

    public var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }
}

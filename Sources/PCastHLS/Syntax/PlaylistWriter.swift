internal import PCastMedia

/// Writes a playlist line by line. What no line or quoted string can hold is left out, so that nobody's title or name
/// becomes a line of its own.
struct PlaylistWriter {
    private(set) var text = "#EXTM3U\n"

    mutating func flag(_ tag: PlaylistTag, if isSet: Bool = true) {
        if isSet { text += "#\(tag.rawValue)\n" }
    }

    mutating func tag(_ tag: PlaylistTag, _ value: String) { text += "#\(tag.rawValue):\(Self.onOneLine(value))\n" }

    mutating func tag(_ tag: PlaylistTag, _ attributes: AttributeWriter) {
        text += "#\(tag.rawValue):\(attributes.text)\n"
    }

    mutating func uri(_ uri: String) { text += Self.onOneLine(uri) + "\n" }

    static func onOneLine(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return text }
        return String(decoding: text.utf8.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, as: UTF8.self)
    }
}

/// Writes an attribute list; what is nil is left out.
struct AttributeWriter {
    private(set) var text = ""

    mutating func bare(_ name: String, _ value: String?) {
        guard let value else { return }
        if !text.isEmpty { text += "," }
        let plain = value.utf8.filter { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
        text += "\(name)=" + PlaylistWriter.onOneLine(String(decoding: plain, as: UTF8.self))
    }

    mutating func quoted(_ name: String, _ value: String?) {
        guard let value else { return }
        if !text.isEmpty { text += "," }
        let plain = value.utf8.filter { $0 != UInt8(ascii: "\"") }
        text += "\(name)=\"" + PlaylistWriter.onOneLine(String(decoding: plain, as: UTF8.self)) + "\""
    }

    mutating func quoted(_ name: String, _ values: [String], separator: String = ",") {
        if !values.isEmpty { quoted(name, values.joined(separator: separator)) }
    }

    mutating func yes(_ name: String, _ isSet: Bool) {
        if isSet { bare(name, "YES") }
    }

    mutating func number(_ name: String, _ value: Int64?) { bare(name, value.map { String($0) }) }

    mutating func seconds(_ name: String, _ value: TimeSpan?) {
        bare(name, value.map { PlaylistNumber.text(billionths: $0.nanoseconds) })
    }

    mutating func fraction(_ name: String, _ value: Double?) {
        bare(name, value.map { PlaylistNumber.text(billionths: Int64(($0 * 1e9).rounded())) })
    }

    mutating func value(_ name: String, _ value: AttributeValue) {
        switch value {
        case .quoted(let text): quoted(name, text)
        case .bare(let text): bare(name, text)
        }
    }
}

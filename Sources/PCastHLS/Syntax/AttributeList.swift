internal import PCastMedia

/// The attributes of one tag. Those that nobody asks for are ignored (RFC 8216, section 6.3.1).
struct AttributeList {
    let tag: PlaylistTag
    let line: Int
    private(set) var values: [(name: String, value: AttributeValue)] = []

    /// Reads `NAME=value,NAME="value"`, with spaces about the commas, which some servers write.
    ///
    /// A list in which a name stands twice is refused (RFC 8216, section 4.2).
    init(_ text: PlaylistText, of tag: PlaylistTag, line: Int) throws(PlaylistError) {
        self.tag = tag
        self.line = line
        var rest = text.trimmed
        var names: Set<String> = []
        while !rest.isEmpty {
            let (name, tail) = rest.divided(at: "=")
            guard let tail, Self.isName(name.trimmed) else { throw malformed }
            let key = name.trimmed.string
            guard names.insert(key).inserted else { throw .malformedAttribute(key, tag: tag.rawValue, line: line) }
            rest = tail.trimmed
            let value: AttributeValue
            if rest.first == UInt8(ascii: "\"") {
                let (quoted, behind) = rest.dropFirst().divided(at: "\"")
                guard let behind = behind?.trimmed, behind.isEmpty || behind.first == UInt8(ascii: ",") else {
                    throw .malformedAttribute(key, tag: tag.rawValue, line: line)
                }
                value = .quoted(quoted.string)
                rest = behind.dropFirst().trimmed
            } else {
                let (bare, behind) = rest.divided(at: ",")
                guard !bare.trimmed.contains(UInt8(ascii: "\"")) else {
                    throw .malformedAttribute(key, tag: tag.rawValue, line: line)
                }
                value = .bare(bare.trimmed.string)
                rest = (behind ?? bare[bare.endIndex...]).trimmed
            }
            values.append((key, value))
        }
    }

    private static func isName(_ text: PlaylistText) -> Bool {
        !text.isEmpty
            && text.allSatisfy {
                (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    private var malformed: PlaylistError { .malformedTag(tag.rawValue, line: line) }

    func malformed(_ name: String) -> PlaylistError { .malformedAttribute(name, tag: tag.rawValue, line: line) }

    /// Variables are replaced in what is quoted, and in hexadecimal numbers (RFC 8216bis, section 4.3); and in what should
    /// have been quoted.
    mutating func replaceVariables(in variables: inout PlaylistVariables) throws(PlaylistError) {
        for index in values.indices {
            switch values[index].value {
            case .quoted(let text): values[index].value = .quoted(try variables.replace(in: text, line: line))
            case .bare(let text):
                let replaced = try variables.replace(in: text, line: line)
                guard !replaced.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }) else {
                    throw malformed(values[index].name)
                }
                values[index].value = .bare(replaced[...].utf8.trimmed.string)
            }
        }
    }

    subscript(name: String) -> AttributeValue? { values.first { $0.name == name }?.value }
}

extension AttributeList {
    /// With its quotes or without: servers forget them.
    func string(_ name: String) -> String? { self[name]?.text }

    /// A word that stands without quotes when it is written; nil for what is none.
    func word(_ name: String) -> String? {
        guard let text = string(name)?[...].utf8.trimmed, !text.isEmpty, !text.contains(UInt8(ascii: ",")) else {
            return nil
        }
        return text.string
    }

    func required(_ name: String) throws(PlaylistError) -> String {
        guard let text = string(name), !text.isEmpty else {
            throw .missingAttribute(name, tag: tag.rawValue, line: line)
        }
        return text
    }

    func required<Value>(
        _ name: String, _ read: (String) throws(PlaylistError) -> Value?
    ) throws(PlaylistError) -> Value {
        guard let value = try read(name) else { throw .missingAttribute(name, tag: tag.rawValue, line: line) }
        return value
    }

    func isYes(_ name: String) -> Bool { string(name) == "YES" }

    func integer(_ name: String) throws(PlaylistError) -> Int64? {
        guard let text = string(name) else { return nil }
        guard let number = text[...].utf8.decimal() else { throw malformed(name) }
        return number
    }

    func seconds(_ name: String) throws(PlaylistError) -> TimeSpan? {
        guard let text = string(name) else { return nil }
        guard let span = text[...].utf8.seconds() else { throw malformed(name) }
        return span
    }

    /// Of at most ten years, either way.
    func signedSeconds(_ name: String) throws(PlaylistError) -> TimeSpan? {
        guard let text = string(name) else { return nil }
        let isNegative = text.hasPrefix("-")
        let digits = (isNegative ? text.dropFirst() : text[...]).utf8
        guard let span = digits.seconds(upTo: PlaylistLimits.duration) else { throw malformed(name) }
        return isNegative ? -span : span
    }

    /// A number with a fraction, of at most a million.
    func fraction(_ name: String) throws(PlaylistError) -> Double? {
        guard let text = string(name) else { return nil }
        guard let billionths = text[...].utf8.billionths(upTo: 1_000_000) else { throw malformed(name) }
        return Double(billionths) / 1e9
    }

    func resolution(_ name: String) throws(PlaylistError) -> Dimensions? {
        guard let text = string(name) else { return nil }
        let (width, height) = text[...].utf8.divided(at: "x")
        guard let width = width.decimal(upTo: 65_536), let height = height?.decimal(upTo: 65_536) else {
            throw malformed(name)
        }
        return Dimensions(width: Int(width), height: Int(height))
    }

    /// `length[@offset]`; without an offset the range begins where `previousEnd` says, for want of which it is refused.
    func byteRange(_ name: String, after previousEnd: Int64?) throws(PlaylistError) -> ByteRange? {
        guard let text = string(name) else { return nil }
        guard let written = ByteRange.Written(text[...].utf8) else { throw malformed(name) }
        guard let range = written.range(after: previousEnd) else { throw .byteRangeWithoutStart(line: line) }
        return range
    }

    /// What a comma separates, without what is empty.
    func list(_ name: String, separator: Unicode.Scalar = ",") -> [String] {
        guard let text = string(name) else { return [] }
        return text.utf8.split(separator: UInt8(ascii: separator)).map { Substring($0).utf8.trimmed.string }
            .filter { !$0.isEmpty }
    }
}

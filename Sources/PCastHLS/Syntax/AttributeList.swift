internal import PCastCore

/// The attributes of one tag. Unknown attributes are ignored (RFC 8216, section 6.3.1).
struct AttributeList {
    /// The tag, for error messages.
    let tag: PlaylistTag
    /// The number of the tag's line from 1, for error messages.
    let line: Int
    /// The attributes in the order of the list. Their names are unique.
    private(set) var values: [(name: String, value: AttributeValue)] = []

    /// Parses `NAME=value,NAME="value"`. Spaces around commas and equals signs are accepted, because some servers write
    /// them.
    ///
    /// - Parameters:
    ///   - text: The list.
    ///   - tag: The tag, for error messages.
    ///   - line: The number of the line, for error messages.
    /// - Throws: ``PlaylistError`` if the list is malformed or contains a name twice (RFC 8216, section 4.2).
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
                let (unquoted, behind) = rest.divided(at: ",")
                guard !unquoted.trimmed.contains(UInt8(ascii: "\"")) else {
                    throw .malformedAttribute(key, tag: tag.rawValue, line: line)
                }
                value = .unquoted(unquoted.trimmed.string)
                rest = (behind ?? unquoted[unquoted.endIndex...]).trimmed
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

    /// Returns the error for an attribute whose value cannot be read.
    func malformed(_ name: String) -> PlaylistError { .malformedAttribute(name, tag: tag.rawValue, line: line) }

    /// Replaces variables in quoted strings and hexadecimal numbers (RFC 8216bis, section 4.3), and also in other
    /// values, because some servers omit the quotes.
    ///
    /// - Parameter variables: The variables that are defined so far.
    /// - Throws: ``PlaylistError`` if a variable is undefined, or the replaced value does not fit into an attribute.
    mutating func replaceVariables(in variables: inout PlaylistVariables) throws(PlaylistError) {
        for index in values.indices {
            switch values[index].value {
            case .quoted(let text): values[index].value = .quoted(try variables.replace(in: text, line: line))
            case .unquoted(let text):
                let replaced = try variables.replace(in: text, line: line)
                guard !replaced.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }) else {
                    throw malformed(values[index].name)
                }
                values[index].value = .unquoted(replaced[...].utf8.trimmed.string)
            }
        }
    }

    /// Returns the value of an attribute; nil if it is missing.
    subscript(name: String) -> AttributeValue? { values.first { $0.name == name }?.value }
}

extension AttributeList {
    /// Returns a string with or without quotes, because some servers omit them; nil if the attribute is missing.
    func string(_ name: String) -> String? { self[name]?.text }

    /// Returns an enumerated string, i.e. a value that is written without quotes. Returns nil if the attribute is
    /// missing, empty, or contains a comma.
    func word(_ name: String) -> String? {
        guard let text = string(name)?[...].utf8.trimmed, !text.isEmpty, !text.contains(UInt8(ascii: ",")) else {
            return nil
        }
        return text.string
    }

    /// Returns a string that must be present and not empty.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The string.
    /// - Throws: ``PlaylistError/missingAttribute(_:tag:line:)``.
    func required(_ name: String) throws(PlaylistError) -> String {
        guard let text = string(name), !text.isEmpty else {
            throw .missingAttribute(name, tag: tag.rawValue, line: line)
        }
        return text
    }

    /// Returns a value that must be present.
    ///
    /// - Parameters:
    ///   - name: The name of the attribute.
    ///   - read: The function that reads the value, e.g. ``integer(_:)``.
    /// - Returns: The value.
    /// - Throws: ``PlaylistError/missingAttribute(_:tag:line:)``, or the error of `read`.
    func required<Value>(
        _ name: String, _ read: (String) throws(PlaylistError) -> Value?
    ) throws(PlaylistError) -> Value {
        guard let value = try read(name) else { throw .missingAttribute(name, tag: tag.rawValue, line: line) }
        return value
    }

    /// Returns whether the attribute has the value `YES`.
    func isYes(_ name: String) -> Bool { string(name) == "YES" }

    /// Returns a decimal integer of at most 2^61; nil if the attribute is missing.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The number.
    /// - Throws: ``PlaylistError/malformedAttribute(_:tag:line:)``.
    func integer(_ name: String) throws(PlaylistError) -> Int64? {
        guard let text = string(name) else { return nil }
        guard let number = text[...].utf8.decimal() else { throw malformed(name) }
        return number
    }

    /// Returns a duration in decimal seconds of at most a day; nil if the attribute is missing.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The duration.
    /// - Throws: ``PlaylistError/malformedAttribute(_:tag:line:)``.
    func seconds(_ name: String) throws(PlaylistError) -> TimeSpan? {
        guard let text = string(name) else { return nil }
        guard let span = text[...].utf8.seconds() else { throw malformed(name) }
        return span
    }

    /// Returns a signed duration in decimal seconds of at most ten years; nil if the attribute is missing.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The duration.
    /// - Throws: ``PlaylistError/malformedAttribute(_:tag:line:)``.
    func signedSeconds(_ name: String) throws(PlaylistError) -> TimeSpan? {
        guard let text = string(name) else { return nil }
        let isNegative = text.hasPrefix("-")
        let digits = (isNegative ? text.dropFirst() : text[...]).utf8
        guard let span = digits.seconds(upTo: PlaylistLimits.duration) else { throw malformed(name) }
        return isNegative ? -span : span
    }

    /// Returns a decimal number of at most a million; nil if the attribute is missing.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The number.
    /// - Throws: ``PlaylistError/malformedAttribute(_:tag:line:)``.
    func fraction(_ name: String) throws(PlaylistError) -> Double? {
        guard let text = string(name) else { return nil }
        guard let billionths = text[...].utf8.billionths(upTo: 1_000_000) else { throw malformed(name) }
        return Double(billionths) / 1e9
    }

    /// Returns dimensions in the form `1280x720`, each at most 65,536; nil if the attribute is missing.
    ///
    /// - Parameter name: The name of the attribute.
    /// - Returns: The dimensions in pixels.
    /// - Throws: ``PlaylistError/malformedAttribute(_:tag:line:)``.
    func resolution(_ name: String) throws(PlaylistError) -> Dimensions? {
        guard let text = string(name) else { return nil }
        let (width, height) = text[...].utf8.divided(at: "x")
        guard let width = width.decimal(upTo: 65_536), let height = height?.decimal(upTo: 65_536) else {
            throw malformed(name)
        }
        return Dimensions(width: Int(width), height: Int(height))
    }

    /// Returns a byte range in the form `length[@offset]`; nil if the attribute is missing.
    ///
    /// - Parameters:
    ///   - name: The name of the attribute.
    ///   - previousEnd: The beginning of a range without an offset; nil if it must have one.
    /// - Returns: The range.
    /// - Throws: ``PlaylistError`` if the value is malformed or has no beginning.
    func byteRange(_ name: String, after previousEnd: Int64?) throws(PlaylistError) -> ByteRange? {
        guard let text = string(name) else { return nil }
        guard let written = ByteRange.UnresolvedRange(text[...].utf8) else { throw malformed(name) }
        guard let range = written.range(after: previousEnd) else { throw .byteRangeWithoutStart(line: line) }
        return range
    }

    /// Returns the items of a separated list without spaces around them. Empty items are left out.
    func list(_ name: String, separator: Unicode.Scalar = ",") -> [String] {
        guard let text = string(name) else { return [] }
        return text.utf8.split(separator: UInt8(ascii: separator)).map { Substring($0).utf8.trimmed.string }
            .filter { !$0.isEmpty }
    }
}

/// The value of an attribute, which is a quoted string or not quoted (RFC 8216, section 4.2).
public enum AttributeValue: Hashable, Sendable {
    /// A quoted string, without its quotes.
    case quoted(String)
    /// A number or an enumerated string.
    case unquoted(String)

    /// The value without quotes.
    public var text: String {
        switch self {
        case .quoted(let text), .unquoted(let text): text
        }
    }
}

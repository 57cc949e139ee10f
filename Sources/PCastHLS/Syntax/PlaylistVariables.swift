/// The variables of a playlist and their substitution (RFC 8216bis, sections 4.3 and 4.4.2.3).
struct PlaylistVariables {
    /// The definitions, in the order of the playlist.
    private(set) var definitions: [PlaylistVariable] = []
    private var values: [String: String] = [:]
    /// The number of bytes by which the text may still grow. The limit is needed because a large value may be used in
    /// thousands of lines.
    private var remainingSize = PlaylistLimits.textSize

    private let uri: String
    private let imported: [String: String]

    /// Creates an empty set of definitions.
    ///
    /// - Parameters:
    ///   - uri: The URI of the playlist after redirects, whose query `QUERYPARAM` reads.
    ///   - imported: The variables of the multivariant playlist, which `IMPORT` finds.
    init(uri: String, importing imported: [PlaylistVariable]) {
        self.uri = uri
        self.imported = Dictionary(imported.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Adds a definition.
    ///
    /// - Parameter attributes: The attributes of `EXT-X-DEFINE`.
    /// - Throws: ``PlaylistError`` if the value is not found, the name is invalid or already used, or there are too
    ///   many.
    mutating func define(_ attributes: AttributeList) throws(PlaylistError) {
        let name: String
        let value: String
        if let imports = attributes.string("IMPORT") {
            name = imports
            guard let found = imported[name] else { throw .undefinedVariable(name, line: attributes.line) }
            value = found
        } else if let parameter = attributes.string("QUERYPARAM") {
            name = parameter
            guard let found = URIReference(uri).queryParameter(name), Self.fitsQuotes(found) else {
                throw .undefinedVariable(name, line: attributes.line)
            }
            value = found
        } else {
            name = try attributes.required("NAME")
            guard let text = attributes.string("VALUE") else {
                throw .missingAttribute("VALUE", tag: attributes.tag.rawValue, line: attributes.line)
            }
            value = text
        }
        guard Self.isName(name) else { throw attributes.malformed("NAME") }
        guard values[name] == nil else { throw .variableDefinedTwice(name, line: attributes.line) }
        guard Self.reference(in: value[...].utf8) == nil else { throw .nestedVariable(line: attributes.line) }
        values[name] = value
        definitions.append(PlaylistVariable(name: name, value: value))
        try PlaylistLimits.check(definitions.count, .variables, line: attributes.line)
    }

    /// Returns whether a text can be the value of a quoted string.
    private static func fitsQuotes(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Replaces each `{$name}` once.
    ///
    /// Values that contain references, or complete one with the text around them, are rejected. So the result means the
    /// same when it is written to a playlist and parsed again.
    ///
    /// - Parameters:
    ///   - text: The value of an attribute, or a URI line.
    ///   - line: The number of the line, for errors.
    /// - Returns: The text without references.
    /// - Throws: ``PlaylistError`` if a variable is undefined or nested, or the result is too long.
    mutating func replace(in text: String, line: Int) throws(PlaylistError) -> String {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return text }
        guard Self.reference(in: text[...].utf8) != nil else { return text }
        var result = ""
        var rest = text[...].utf8
        while let reference = Self.reference(in: rest) {
            let name = reference.name.string
            guard let value = values[name] else { throw .undefinedVariable(name, line: line) }
            result += Substring(rest[..<reference.start])
            result += value
            rest = rest[reference.end...]
            remainingSize -= value.utf8.count
            guard remainingSize >= 0 else { throw .tooLarge }
            guard result.utf8.count <= PlaylistLimits.substitutedSize else { throw .lineTooLong(line: line) }
        }
        result += Substring(rest)
        guard Self.reference(in: result[...].utf8) == nil else { throw .nestedVariable(line: line) }
        return result
    }

    /// Replaces the variables in a URI line.
    ///
    /// - Parameters:
    ///   - text: The line.
    ///   - line: The number of the line, for errors.
    /// - Returns: The URI, which is not empty.
    /// - Throws: ``PlaylistError`` if a variable cannot be replaced, or the result is not a URI line.
    mutating func uri(_ text: PlaylistText, line: Int) throws(PlaylistError) -> String {
        let uri = try replace(in: text.string, line: line)[...].utf8.trimmed.string
        guard !uri.isEmpty, !uri.hasPrefix("#") else { throw .malformedTag("URI", line: line) }
        return uri
    }

    /// Returns the first `{$name}` in a text; nil if there is none.
    private static func reference(
        in text: PlaylistText
    ) -> (start: PlaylistText.Index, name: PlaylistText, end: PlaylistText.Index)? {
        var rest = text
        while let start = rest.firstIndex(of: UInt8(ascii: "{")) {
            rest = rest[rest.index(after: start)...]
            guard rest.first == UInt8(ascii: "$") else { continue }
            let name = rest.dropFirst().prefix(while: isNameByte)
            guard !name.isEmpty, name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: "}") else {
                continue
            }
            return (start, name, rest.index(after: name.endIndex))
        }
        return nil
    }
}

/// A variable that `EXT-X-DEFINE` defines (RFC 8216bis, section 4.4.2.3).
public struct PlaylistVariable: Hashable, Sendable {
    /// The name, which consists of letters, digits, hyphens and underscores.
    public var name: String
    /// The value, from the tag, the URI's query, or the multivariant playlist.
    public var value: String

    /// Creates a variable from its name and value.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

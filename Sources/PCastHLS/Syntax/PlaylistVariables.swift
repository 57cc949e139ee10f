/// The variables of a playlist, and their replacement (RFC 8216bis, sections 4.3 and 4.4.2.3).
struct PlaylistVariables {
    /// In the order of their definitions.
    private(set) var definitions: [PlaylistVariable] = []
    private var values: [String: String] = [:]
    /// How much the text may still grow: a value of thousands of bytes may stand in each of thousands of lines.
    private var room = PlaylistLimits.textSize

    private let uri: String
    private let imported: [String: String]

    /// - Parameters:
    ///   - uri: Where the playlist came from, after redirections: `QUERYPARAM` reads its query.
    ///   - imported: What `IMPORT` finds: the variables of the multivariant playlist.
    init(uri: String, importing imported: [PlaylistVariable]) {
        self.uri = uri
        self.imported = Dictionary(imported.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

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

    /// Replaces each `{$name}`, once: what a value brings is not looked at again, and refused where it is a reference,
    /// so that what was read means the same when it is written and read again.
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
            room -= value.utf8.count
            guard room >= 0 else { throw .tooLarge }
            guard result.utf8.count <= PlaylistLimits.substitutedSize else { throw .lineTooLong(line: line) }
        }
        result += Substring(rest)
        guard Self.reference(in: result[...].utf8) == nil else { throw .nestedVariable(line: line) }
        return result
    }

    /// A line that is a URI.
    mutating func uri(_ text: PlaylistText, line: Int) throws(PlaylistError) -> String {
        let uri = try replace(in: text.string, line: line)[...].utf8.trimmed.string
        guard !uri.isEmpty, !uri.hasPrefix("#") else { throw .malformedTag("URI", line: line) }
        return uri
    }

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

/// A variable that `EXT-X-DEFINE` defines, with its value, wherever that came from.
public struct PlaylistVariable: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

import Yams

/// A value of a YAML file that people write, and the line on which it starts.
///
/// Yams parses the text. Scalars keep their text, because each option has a format of its own: `1e3` and `no` are not
/// converted, and `null` is the name of a source. Anchors are rejected, so that a short file cannot stand for a huge value.
package struct YAMLValue: Hashable, Sendable {
    /// The content of a value.
    package enum Content: Hashable, Sendable {
        /// No value: nothing, or `~`.
        case null
        /// A text, in quotes or not.
        case scalar(String, isQuoted: Bool)
        /// A sequence.
        case list([YAMLValue])
        /// A mapping, with members in the order of the text and unique names.
        case mapping([YAMLMember])
    }

    /// The content.
    package let content: Content
    /// The line, starting at 1.
    package let line: Int

    /// The largest depth. It exceeds that of valid files.
    private static let largestDepth = 16

    /// Parses a text with at most one document. A text without values is an empty mapping.
    ///
    /// - Throws: ``YAMLError`` with the line of the mistake.
    package static func read(_ text: String) throws(YAMLError) -> YAMLValue {
        let parser: Parser
        let node: Node?
        do {
            parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
            node = try parser.singleRoot()
        } catch { throw YAMLError(error) }
        // The parser owns the anchors, and nodes have weak references to them.
        defer { withExtendedLifetime(parser) {} }
        guard let node else { return YAMLValue(content: .mapping([]), line: 1) }
        let value = try YAMLValue(node, depth: 0)
        return value.content == .null ? YAMLValue(content: .mapping([]), line: value.line) : value
    }

    private init(content: Content, line: Int) { (self.content, self.line) = (content, line) }

    private init(_ node: Node, depth: Int) throws(YAMLError) {
        line = node.mark?.line ?? 1
        guard depth < Self.largestDepth else { throw YAMLError(line: line, reason: "values are nested too deeply") }
        switch node {
        case .scalar(let scalar):
            try Self.check(scalar.anchor, line)
            content = Self.content(of: scalar)
        case .sequence(let sequence):
            try Self.check(sequence.anchor, line)
            var elements: [YAMLValue] = []
            for element in sequence { elements.append(try YAMLValue(element, depth: depth + 1)) }
            content = .list(elements)
        case .mapping(let mapping):
            try Self.check(mapping.anchor, line)
            var members: [YAMLMember] = []
            for (key, element) in mapping {
                guard case .scalar(let name) = key else {
                    throw YAMLError(line: key.mark?.line ?? line, reason: "a name must be a text")
                }
                try Self.check(name.anchor, line)
                members.append(
                    YAMLMember(
                        name: name.string, line: key.mark?.line ?? line,
                        value: try YAMLValue(element, depth: depth + 1)))
            }
            content = .mapping(members)
        case .alias:
            throw YAMLError(line: line, reason: "references (*) are not supported: repeat the value")
        }
    }

    private static func content(of scalar: Node.Scalar) -> Content {
        let isPlain = scalar.style == .plain || scalar.style == .any
        if isPlain, ["", "~"].contains(scalar.string) { return .null }
        return .scalar(scalar.string, isQuoted: !isPlain)
    }

    private static func check(_ anchor: Anchor?, _ line: Int) throws(YAMLError) {
        if anchor != nil { throw YAMLError(line: line, reason: "anchors (&) are not supported: repeat the value") }
    }

    /// Returns the members of a mapping. `subject` describes the expected mapping in the error.
    ///
    /// - Throws: ``YAMLError`` for another value.
    package func members(_ subject: String) throws(YAMLError) -> [YAMLMember] {
        guard case .mapping(let members) = content else {
            throw YAMLError(line: line, reason: "\(subject) must be a mapping, with lines “name: value”")
        }
        return members
    }
}

/// A member of a YAML mapping.
package struct YAMLMember: Hashable, Sendable {
    /// The name.
    package let name: String
    /// The line of the name, starting at 1.
    package let line: Int
    /// The value.
    package let value: YAMLValue

    /// Returns an error about this member.
    package func refusal(_ reason: String) -> YAMLError { YAMLError(line: line, reason: "“\(name)” \(reason)") }

    /// Returns the error that the name is not one of the accepted ones.
    package func unknown(_ accepted: [String]) -> YAMLError {
        refusal("is unknown: use one of \(accepted.joined(separator: ", "))")
    }

    /// Returns the elements of a list; none for a member without a value.
    ///
    /// - Throws: ``YAMLError`` for another value.
    package func elements() throws(YAMLError) -> [YAMLValue] {
        switch value.content {
        case .null: return []
        case .list(let elements): return elements
        default: throw refusal("must be a list, with lines “- value”")
        }
    }

    /// Returns a text that is not empty.
    ///
    /// - Throws: ``YAMLError`` for another value.
    package func text() throws(YAMLError) -> String {
        guard case .scalar(let text, _) = value.content, !text.isEmpty else { throw refusal("must be a text") }
        return text
    }

    /// Returns `true` or `false`, which must not be in quotes.
    ///
    /// - Throws: ``YAMLError`` for another value.
    package func boolean() throws(YAMLError) -> Bool {
        switch value.content {
        case .scalar("true", isQuoted: false): return true
        case .scalar("false", isQuoted: false): return false
        default: throw refusal("must be true or false")
        }
    }
}

/// The reason why a text is not valid YAML or not the expected one.
package struct YAMLError: Error, Hashable, Sendable {
    /// The line, starting at 1; nil if it is unknown.
    package let line: Int?
    /// The reason for display.
    package let reason: String

    /// Creates an error.
    package init(line: Int?, reason: String) { (self.line, self.reason) = (line, reason) }

    /// Creates the error of a text that Yams rejects.
    fileprivate init(_ error: any Error) {
        guard let error = error as? YamlError else {
            self.init(line: nil, reason: "\(error)")
            return
        }
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let context = context.map { "\($0.text) (line \($0.mark.line)), " } ?? ""
            self.init(line: mark.line, reason: context + problem)
        case .duplicatedKeysInMapping(let names, let context):
            self.init(
                line: context.mark.line, reason: "“\(names.first ?? "")” is given twice; the first is on this line")
        case .reader(let problem, let offset, _, let text):
            self.init(line: offset.map { 1 + text.prefix($0).count(where: \.isNewline) }, reason: problem)
        default: self.init(line: nil, reason: "it is not YAML")
        }
    }
}

import Foundation

/// A declaration that programs outside the package can use.
struct PublicDeclaration {
    /// The path of the file from the package's root.
    let path: String
    /// The line of the file, from 1.
    let line: Int
    /// The declared name. It is `init` or `subscript` for those.
    let name: String
    /// The declaration without its body, comments and string literals, in one line.
    let text: String
    /// The documentation comment; empty if there is none.
    let comment: String
}

/// The public declarations of a file of Swift source, found by their keywords in text that `swift format` has formatted.
struct PublicInterface {
    private(set) var declarations: [PublicDeclaration] = []
    private let path: String
    private let source: [String]
    private let code: [String]

    init(path: String, text: String) {
        self.path = path
        source = text.components(separatedBy: "\n")
        code = Sources.code(of: text).components(separatedBy: "\n")
        var index = 0
        while index < code.count {
            guard Self.isPublic(code[index]) else {
                index += 1
                continue
            }
            let (text, end) = declaration(at: index)
            add(text, at: index)
            let hasMembers = text.contains(/\b(protocol|enum) [A-Z]/) && code[end].hasSuffix("{")
            if hasMembers { addMembers(after: end, isProtocol: text.contains(/\bprotocol\b/)) }
            index = end + 1
        }
    }

    /// Returns whether a line begins a public declaration. Imports are none.
    private static func isPublic(_ line: String) -> Bool {
        // A search for the words is much faster than a regular expression, and few lines have them.
        guard line.contains("public ") || line.contains("open ") else { return false }
        let attributes = /^ *(@[A-Za-z_]+(\([^)]*\))? )*/
        let modifiers = /^((nonisolated|final|static|override) )*(public|open) (?!import )/
        return line.trimmingPrefix(attributes).prefixMatch(of: modifiers) != nil
    }

    /// Returns the declaration that begins at a line, without its body, and the index of its last line.
    private func declaration(at start: Int) -> (text: String, end: Int) {
        var text = ""
        var depth = 0
        var index = start
        while true {
            for character in code[index].trimmingCharacters(in: .whitespaces) + " " {
                if "([".contains(character) { depth += 1 }
                if ")]".contains(character) { depth -= 1 }
                if depth == 0, character == "{" { return (text, index) }
                text.append(character)
            }
            let next = index + 1 < code.count ? code[index + 1].trimmingCharacters(in: .whitespaces) : ""
            let continues = depth > 0 || next.hasPrefix(")") || next.contains(/^(->|throws\b|async\b|where\b)/)
            guard continues, index + 1 < code.count else { return (text, index) }
            index += 1
        }
    }

    /// Adds the requirements of a protocol or the cases of an enumeration, which have no access level of their own.
    private mutating func addMembers(after start: Int, isProtocol: Bool) {
        let indentation = code[start].prefix { $0 == " " }.count
        var index = start + 1
        while index < code.count, code[index].prefix(while: { $0 == " " }).count > indentation || code[index].isEmpty {
            let isMember = code[index].prefix { $0 == " " }.count == indentation + 4
            let words = code[index].trimmingCharacters(in: .whitespaces)
            let isCase = words.hasPrefix("case ") || words.hasPrefix("indirect case ")
            guard isMember, isProtocol ? words.contains(/\b(var|func|init|subscript)\b/) : isCase else {
                index += 1
                continue
            }
            let (text, end) = declaration(at: index)
            add(text, at: index)
            index = end + 1
        }
    }

    private mutating func add(_ text: String, at index: Int) {
        let keywords = /\b(?:func|var|let|case|typealias|struct|class|enum|protocol|actor) ([^ (<:=]+)/
        let name = text.firstMatch(of: keywords)?.1 ?? text.firstMatch(of: /\b(init|subscript)\b/)?.1 ?? ""
        var comment: [String] = []
        for line in source[..<index].reversed() {
            let words = line.trimmingCharacters(in: .whitespaces)
            guard words.hasPrefix("///") || words.hasPrefix("@") else { break }
            if words.hasPrefix("///") { comment.insert(words, at: 0) }
        }
        declarations.append(
            PublicDeclaration(
                path: path, line: index + 1, name: String(name), text: text, comment: comment.joined(separator: " ")))
    }
}

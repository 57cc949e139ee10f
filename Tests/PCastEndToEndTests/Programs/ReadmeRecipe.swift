import Foundation

/// A recipe of README.md: the section below one of the headings of "Recipes".
struct ReadmeRecipe: Sendable {
    private let heading: String
    /// The commands of the code blocks. The lines of a command that continues with a backslash are joined.
    private let commands: [String]
    /// The text between backticks outside the code blocks.
    private let codes: [String]

    /// Reads a section of README.md. Throws if there is none with this heading.
    init(_ heading: String) throws {
        self.heading = heading
        let lines = try Self.section { line in line.hasPrefix("#") && line.drop { $0 == "#" }.dropFirst() == heading }
        var (commands, texts): ([String], [String]) = ([], [])
        var (isCode, continues) = (false, false)
        for line in lines {
            if line.hasPrefix("```") {
                isCode.toggle()
                continue
            }
            guard isCode else {
                texts.append(line)
                continue
            }
            let part = line.hasSuffix("\\") ? String(line.dropLast()) : line
            if continues { commands[commands.count - 1] += part } else { commands.append(part) }
            continues = line.hasSuffix("\\")
        }
        self.commands = commands
        codes = texts.joined(separator: "\n").split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// Returns the lines after a heading, up to the next one.
    private static func section(_ isHeading: (String) -> Bool) throws -> ArraySlice<String> {
        let text = try String(contentsOfFile: "\(BuiltProgram.repository)/README.md", encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        guard let start = lines.firstIndex(where: isHeading) else {
            throw EndToEndFailure("README.md has no such heading")
        }
        let rest = lines[(start + 1)...]
        var isCode = false
        // A comment of a shell begins like a heading.
        let end = rest.firstIndex { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode && line.hasPrefix("#")
        }
        return rest[..<(end ?? rest.endIndex)]
    }

    /// Returns the one command that contains a text.
    func command(with text: String) throws -> String {
        try Self.only(commands.filter { $0.contains(text) }, heading, text)
    }

    /// Returns the one piece of inline code that contains a text.
    func code(with text: String) throws -> String { try Self.only(codes.filter { $0.contains(text) }, heading, text) }

    private static func only(_ found: [String], _ heading: String, _ text: String) throws -> String {
        guard found.count == 1 else {
            throw EndToEndFailure("“\(heading)” of README.md has “\(text)” \(found.count) times, and must have it once")
        }
        return found[0]
    }

    /// Returns the assignments of shell variables that all recipes use.
    static func assignments() throws -> [String] {
        let assignments = try ReadmeRecipe("Recipes").commands.filter { !$0.isEmpty }
        guard !assignments.isEmpty, assignments.allSatisfy({ name(of: $0) != nil }) else {
            throw EndToEndFailure("“Recipes” of README.md must begin with assignments only: \(assignments)")
        }
        return assignments
    }

    /// Returns the variable of an assignment; nil if the line is none.
    static func name(of assignment: String) -> String? {
        let name = assignment.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return !name.isEmpty && assignment.dropFirst(name.count).hasPrefix("=") ? String(name) : nil
    }
}

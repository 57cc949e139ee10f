import Foundation
import Testing

/// The tables of `docs/ARCHITECTURE.md` that follow a packet, a request, a join and a publisher through the code.
@Suite("The paths through the code in the architecture document")
struct CodePathTests {
    /// A row of a table: some files, and their functions to read.
    private struct Row {
        let files: [String]
        let functions: [String]

        /// Parses a line; nil if it is not a row.
        init?(_ line: Substring) {
            let cells = line.components(separatedBy: " | ")
            guard line.hasPrefix("| `PCast"), cells.count == 3 else { return nil }
            files = Self.code(cells[0])
            functions = Self.code(cells[1])
        }

        /// Returns the pieces of inline code.
        private static func code(_ text: String) -> [String] {
            text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map { $0.element }
        }
    }

    private let sections: [(title: Substring, rows: [Row])]

    init() throws {
        let url = Sources.root.appendingPathComponent("docs/ARCHITECTURE.md")
        let text = try String(contentsOf: url, encoding: .utf8)
        let start = try #require(text.range(of: "## Follow one through the code\n"))
        let end = try #require(text.range(of: "\n## ", range: start.upperBound..<text.endIndex))
        let pieces = text[start.upperBound..<end.lowerBound].components(separatedBy: "\n### ").dropFirst()
        sections = pieces.map { piece in
            let lines = Substring(piece).split(separator: "\n")
            return (lines[0], lines.compactMap { Row($0) })
        }
    }

    @Test("there is a path of a packet, of a WHIP request, of a join and of a publisher")
    func paths() {
        #expect(sections.count == 4)
        for section in sections { #expect(section.rows.count > 10, "\(section.title)") }
    }

    @Test("the path of a packet crosses at most 25 files")
    func packet() throws {
        let packet = try #require(sections.first)
        #expect(packet.title.hasPrefix("A packet"))
        #expect(Set(packet.rows.flatMap(\.files)).count <= 25)
    }

    @Test("each function of a row is declared in a file of the row, and each file has one of the functions")
    func functions() throws {
        for row in sections.flatMap(\.rows) {
            let texts = try row.files.map { file in
                let url = Sources.root.appendingPathComponent("Sources/\(file).swift")
                return (file: file, text: try String(contentsOf: url, encoding: .utf8))
            }
            var used: Set<String> = []
            for function in row.functions {
                let name = function.prefix { $0 != "(" }
                let pattern =
                    name == "init" ? #"\binit[?]?\("# : #"\b(func|var|struct|class|enum|extension) \#(name)\b"#
                let declaring = texts.filter { $0.text.range(of: pattern, options: .regularExpression) != nil }
                #expect(!declaring.isEmpty, "\(row.files) has no \(function)")
                used.formUnion(declaring.map(\.file))
            }
            #expect(used == Set(row.files), "\(Set(row.files).subtracting(used)) has none of \(row.functions)")
        }
    }
}

import Foundation
import Testing

@Suite("The README")
struct ReadmeTests {
    private let text: String

    init() throws {
        text = try String(contentsOf: Sources.root.appendingPathComponent("README.md"), encoding: .utf8)
    }

    /// The lines of a section, without those of the code blocks.
    private func section(_ heading: String) -> [Substring] {
        let lines = text.split(separator: "\n")
        guard let start = lines.firstIndex(where: { $0 == "## \(heading)" }) else { return [] }
        var isCode = false
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }.filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode
        }
    }

    @Test("each block of Swift is a whole program of Examples, so it is compiled with the package")
    func examples() throws {
        let files = Sources.files(below: "Examples")
        let blocks = text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(blocks.count == 2)
        let manifest = try String(contentsOf: Sources.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        for block in blocks {
            let file = files.first { file in
                // Only a comment may be before it.
                file.text.hasSuffix(block)
                    && file.text.dropLast(block.count).split(separator: "\n").allSatisfy { $0.hasPrefix("//") }
            }
            guard let file else {
                Issue.record("No program of Examples consists of this block of README.md:\n\(block)")
                continue
            }
            let folder = file.path.components(separatedBy: "/").dropLast().joined(separator: "/")
            #expect(manifest.contains("path: \"\(folder)\""), "\(folder) is not a target of Package.swift")
        }
    }

    @Test("each recipe has a row in the table of tests, and each test that the table names exists")
    func recipes() {
        let lines = section("Recipes")
        let headings = lines.filter { $0.hasPrefix("### ") }.map { String($0.dropFirst(4)) }
        let rows = lines.filter { $0.hasPrefix("| ") }.map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let tests = Sources.files(below: "Tests/PCastEndToEndTests")
        #expect(headings.count > 8)
        for heading in headings where heading != "Tests of the recipes" {
            #expect(rows.contains { $0.first == heading }, "no test is named for “\(heading)”")
        }
        for row in rows where row.first != "recipe" {
            #expect(headings.contains(row[0]), "README.md has no recipe “\(row[0])”")
            let names = row[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { $0.element }
            #expect(!names.isEmpty, "“\(row[0])” has no test")
            for name in names {
                #expect(tests.contains { $0.text.contains("\"\(name)\"") }, "no test is called “\(name)”")
            }
        }
    }
}

import Foundation
import Testing

/// Each page of `docs/migrate` must match the tests: its Swift samples are in a file that is compiled with the tests,
/// and the tests that it names exist.
@Suite("The pages about other SDKs")
struct MigrationPagesTests {
    private static let pages = ["brightcove", "easelive", "phenix", "quickplay", "videokit"]

    private func text(_ page: String) throws -> String {
        let url = Sources.root.appendingPathComponent("docs/migrate/\(page).md")
        return try String(contentsOf: url, encoding: .utf8)
    }

    /// Returns the lines without indentation and without empty lines.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Returns the code blocks of Swift.
    private func samples(_ text: String) -> [[String]] {
        text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }.map { lines($0) }
    }

    private func holds(_ file: [String], _ sample: [String]) -> Bool {
        file.indices.contains { file[$0...].starts(with: sample) }
    }

    @Test("each page exists, and there is no other")
    func complete() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Sources.root.appendingPathComponent("docs/migrate").path)
        #expect(files.sorted() == Self.pages.map { "\($0).md" })
    }

    @Test("each block of Swift is compiled with the tests", arguments: pages)
    func compiled(_ page: String) throws {
        let files = Sources.files(below: "Tests").map { lines($0.text) }
        let samples = samples(try text(page))
        #expect(!samples.isEmpty)
        for sample in samples {
            #expect(files.contains { holds($0, sample) }, "no test has\n\(sample.joined(separator: "\n"))")
        }
    }

    @Test("each test that a table names exists", arguments: pages)
    func tests(_ page: String) throws {
        let files = Sources.files(below: "Tests").filter { !$0.path.contains("Architecture") }
        var count = 0
        for row in lines(try text(page)) where row.hasPrefix("|") {
            guard let cell = row.dropLast().split(separator: "|").last else { continue }
            for (index, name) in cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 {
                count += 1
                #expect(files.contains { $0.text.contains("\"\(name)\"") }, "no test is named “\(name)”")
            }
        }
        #expect(count > 0)
    }
}

import Foundation
import Testing

/// The DocC catalogs: their Swift is compiled with the tests, and their symbol links name public declarations.
@Suite("The documentation catalogs")
struct DocumentationCatalogTests {
    private static let modules = ["PCast", "PCastPlatform", "PCastPlayback"]

    private func pages(_ module: String) throws -> [(name: String, text: String)] {
        let folder = Sources.root.appendingPathComponent("Sources/\(module)/\(module).docc")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }.sorted()
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }

    @Test("each catalog has the module's page and an article that starts from scratch", arguments: modules)
    func complete(_ module: String) throws {
        let pages = try pages(module)
        #expect(pages.map(\.name).contains("GettingStarted.md"))
        let overview = try #require(pages.first { $0.name == "\(module).md" })
        #expect(overview.text.hasPrefix("# ``\(module)``\n"))
        #expect(overview.text.contains("<doc:GettingStarted>"))
    }

    @Test("each block of Swift is compiled with the tests", arguments: modules)
    func compiled(_ module: String) throws {
        let files = Sources.files(below: "Tests").map { CodeSamples.lines($0.text) }
        let samples = try pages(module).flatMap { CodeSamples.samples($0.text) }
        #expect(!samples.isEmpty)
        for sample in samples {
            #expect(files.contains { CodeSamples.holds($0, sample) }, "no test has\n\(sample.joined(separator: "\n"))")
        }
    }

    @Test("each symbol link names a public type of the module", arguments: modules)
    func links(_ module: String) throws {
        let sources = Sources.files(below: "Sources/\(module)").map(\.text)
        var count = 0
        for (name, text) in try pages(module) {
            for link in text.matches(of: /``([A-Za-z]+)``/).map({ String($0.1) }) where link != module {
                count += 1
                let declaration = try Regex(
                    #"\n(?:@[A-Za-z]+ )?public (?:final )?(?:class|struct|enum|actor|protocol) \#(link)\b"#)
                #expect(sources.contains { $0.contains(declaration) }, "\(name) links to \(link), which is not public")
            }
        }
        #expect(count > 0)
    }
}

import Foundation
import Testing

/// The names of the code that the documents mention between backticks.
@Suite("Names of the code in documents")
struct DocumentNameTests {
    /// A piece of inline code, and the document that has it.
    private struct Mention {
        let document: String
        let code: String
    }

    private let mentions: [Mention]

    init() throws {
        let files = FileManager.default
        var documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        for folder in ["docs", "docs/decisions", "docs/migrate"] {
            let names = try files.contentsOfDirectory(atPath: Sources.root.appendingPathComponent(folder).path)
            documents += names.filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        mentions = try documents.sorted().flatMap { document in
            let text = try String(contentsOf: Sources.root.appendingPathComponent(document), encoding: .utf8)
            let prose = text.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 0 }
                .map { $0.element }.joined(separator: "\n")
            return prose.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }
                .map { Mention(document: document, code: String($0.element)) }
        }
    }

    @Test("a path that begins with a module names a folder or a file of it")
    func paths() throws {
        let root = Sources.root.path
        let pattern = try Regex(#"(Sources/|Tests/)?PCast\w+/[\w+./]+"#)
        var count = 0
        for mention in mentions where mention.code.wholeMatch(of: pattern) != nil {
            count += 1
            let path = mention.code
            let places = ["\(root)/\(path)", "\(root)/Sources/\(path)", "\(root)/Sources/\(path).swift"]
            #expect(
                places.contains { FileManager.default.fileExists(atPath: $0) },
                "\(mention.document): there is no \(path)")
        }
        #expect(count > 50)
    }

    @Test("a name such as `Forwarder+Layers` is that of a file")
    func extensions() throws {
        let pattern = try Regex(#"[A-Z]\w+\+[A-Z]\w+"#)
        let names = Set(Sources.files(below: "Sources").map { URL(fileURLWithPath: $0.path).lastPathComponent })
        for mention in mentions where mention.code.wholeMatch(of: pattern) != nil {
            #expect(names.contains("\(mention.code).swift"), "\(mention.document): there is no file \(mention.code)")
        }
    }

    @Test("a type or a member that a document names is in the code")
    func names() throws {
        // `JitterBuffer`, `LayerSwitch.replayAge`, `interval(roundTrip:)`; words of several parts alone, because others
        // may be values of the protocol or names of options.
        let pattern = try Regex(#"([A-Z][a-z]+[A-Z]\w*|[A-Z]\w+\.[a-z]\w+|[a-z]+[A-Z]\w*\([\w:]*\))"#)
        let known = try words()
        var count = 0
        for mention in mentions where mention.code.wholeMatch(of: pattern) != nil {
            count += 1
            for name in mention.code.split(whereSeparator: { ".(:)_".contains($0) }) where !name.isEmpty {
                let isKnown = known.contains(String(name))
                #expect(isKnown, "\(mention.document): the code has no \(name)")
            }
        }
        #expect(count > 100)
    }

    /// Returns the identifiers of Swift files and JavaScript modules and the names of the files and folders.
    private func words() throws -> Set<String> {
        var words: Set<String> = []
        for folder in ["Sources", "Tests", "Examples"] {
            let base = Sources.root.appendingPathComponent(folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: base.path) {
                words.insert(URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent)
                guard [".swift", ".mjs"].contains(where: path.hasSuffix) else { continue }
                let data = try Data(contentsOf: base.appendingPathComponent(path))
                data.withUnsafeBytes { Self.collect($0, into: &words) }
            }
        }
        return words
    }

    /// Adds the identifiers of a text. It compares bytes, because the code has some ten megabytes.
    private static func collect(_ bytes: UnsafeRawBufferPointer, into words: inout Set<String>) {
        var start: Int?
        for index in 0...bytes.count {
            let isPart =
                switch index < bytes.count ? bytes[index] : 0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            if isPart {
                start = start ?? index
            } else if let first = start {
                // Names of one lower-case word are not looked for.
                if index - first > 3 { words.insert(String(decoding: bytes[first..<index], as: UTF8.self)) }
                start = nil
            }
        }
    }
}

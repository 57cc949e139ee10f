import Foundation
import Testing

/// A Markdown document of the repository, with its headings and links.
private struct Document {
    /// The path from the repository's root.
    let path: String
    /// The lines outside code blocks.
    private let lines: [String]

    init(path: String) throws {
        self.path = path
        let text = try String(contentsOf: Sources.root.appendingPathComponent(path), encoding: .utf8)
        var isCode = false
        var lines: [String] = []
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if !isCode {
                lines.append(line)
            }
        }
        self.lines = lines
    }

    /// The anchors of the headings: lower case, without punctuation, with hyphens for spaces.
    var anchors: Set<String> {
        var found: Set<String> = []
        for line in lines where line.hasPrefix("#") {
            let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
                .replacingOccurrences(of: #"\[([^\]]*)\]\([^)]*\)"#, with: "$1", options: .regularExpression)
            let anchor = title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
            found.insert(anchor.replacingOccurrences(of: " ", with: "-"))
        }
        return found
    }

    /// Returns the targets of links and images within the repository.
    func links() throws -> [String] {
        let pattern = try Regex(#"\]\(([^)\s]+)\)"#)
        let text = lines.joined(separator: "\n")
            .replacingOccurrences(of: #"`[^`\n]*`"#, with: "", options: .regularExpression)
        return text.matches(of: pattern)
            .compactMap { match in match.output[1].substring.map { String($0) } }
            .filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
    }

    /// Returns the file that a link of this document names, and the anchor in it. `#anchor` names the document itself.
    func target(of link: String) -> (file: URL, anchor: String?) {
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        let own = Sources.root.appendingPathComponent(path)
        let file = parts[0].isEmpty ? own : own.deletingLastPathComponent().appendingPathComponent(parts[0])
        return (file.standardizedFileURL, parts.count > 1 ? parts[1] : nil)
    }

    /// Returns every Markdown document of the repository, without those of its dependencies.
    static func all() throws -> [Document] {
        let files = FileManager.default
        var paths = try files.contentsOfDirectory(atPath: Sources.root.path)
        for folder in ["docs", "Examples", "Tests"] {
            let names = try files.subpathsOfDirectory(atPath: Sources.root.appendingPathComponent(folder).path)
            paths += names.map { "\(folder)/\($0)" }
        }
        return try paths.filter { $0.hasSuffix(".md") }.sorted().map { path in try Document(path: path) }
    }
}

@Suite("Links of documents")
struct LinkTests {
    @Test("a link between documents names a file that exists and a heading in it")
    func links() throws {
        let documents = try Document.all()
        #expect(documents.contains { $0.path == "README.md" })
        let anchors = Dictionary(
            documents.map { (Sources.root.appendingPathComponent($0.path).standardizedFileURL.path, $0.anchors) },
            uniquingKeysWith: { first, _ in first })
        for document in documents {
            for link in try document.links() {
                let (file, anchor) = document.target(of: link)
                #expect(
                    FileManager.default.fileExists(atPath: file.path),
                    "\(document.path) links to \(link): there is no such file")
                guard let anchor, let known = anchors[file.path] else { continue }
                #expect(known.contains(anchor), "\(document.path) links to \(link): there is no such heading")
            }
        }
    }

    @Test("the README links to every document of docs")
    func index() throws {
        let readme = try Document(path: "README.md")
        let linked = Set(try readme.links().map { readme.target(of: $0).file.path })
        for document in try Document.all() where document.path.split(separator: "/").count == 2 {
            guard document.path.hasPrefix("docs/") else { continue }
            let file = Sources.root.appendingPathComponent(document.path).standardizedFileURL.path
            #expect(linked.contains(file), "README.md has no link to \(document.path)")
        }
    }
}

import Foundation

/// The package's own text, as the architecture's tests read it.
enum Sources {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Returns every Swift file below a folder of the package, with its path from the root.
    static func files(below folder: String) -> [(path: String, text: String)] {
        let base = root.appendingPathComponent(folder)
        guard let walk = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil) else { return [] }
        return walk.compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" }
            .compactMap { url in
                (try? String(contentsOf: url, encoding: .utf8)).map {
                    (String(url.path.dropFirst(root.path.count + 1)), $0)
                }
            }
    }

    static func modules() -> [String] {
        let folder = root.appendingPathComponent("Sources").path
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// Returns the targets of the manifest: each one's name and the text of its declaration.
    static func targets() throws -> [(name: String, text: Substring)] {
        let manifest = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        guard let list = manifest.range(of: "targets: [\n") else { return [] }
        var found: [(name: String, text: Substring)] = []
        var rest = manifest[list.upperBound...]
        while let start = rest.range(of: #"(module|\.target|\.executableTarget)\("#, options: .regularExpression) {
            let end = closing(of: start.upperBound, in: rest)
            let text = rest[start.upperBound..<end]
            let name = text.range(of: #"(?<=")[A-Za-z]+(?=")"#, options: .regularExpression)
            found.append((name.map { String(text[$0]) } ?? "", text))
            rest = rest[end...]
        }
        return found
    }

    /// Returns the index of the parenthesis that closes the one just before `start`.
    private static func closing(of start: String.Index, in text: Substring) -> String.Index {
        var depth = 1
        var index = start
        while index < text.endIndex {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" { depth -= 1 }
            if depth == 0 { return index }
            index = text.index(after: index)
        }
        return text.endIndex
    }

    /// Returns the modules that a file imports, for every access level, attribute and kind of `import`.
    static func imports(of text: String) -> Set<String> {
        let levels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
        var found: Set<String> = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                words[..<index].allSatisfy({ $0.hasPrefix("@") || levels.contains($0) })
            else { continue }
            let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            let name = kinds.contains(words[index + 1]) && index + 2 < words.count ? words[index + 2] : words[index + 1]
            found.insert(String(name.prefix { $0 != "." }))
        }
        return found
    }

    /// Returns the text without comments and string literals, so that words in prose are not findings.
    static func code(of text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var code = ""
            var isQuoted = false
            var previous: Character = " "
            for character in line {
                if character == "\"", previous != "\\" { isQuoted.toggle() }
                if !isQuoted, character == "/", previous == "/" {
                    code.removeLast()
                    break
                }
                if !isQuoted { code.append(character) }
                previous = character
            }
            return code
        }.joined(separator: "\n")
    }
}

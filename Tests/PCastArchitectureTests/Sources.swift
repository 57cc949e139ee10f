import Foundation

/// The package's own text, as the architecture's tests read it.
enum Sources {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every Swift file below a folder of the package, with its path from the root.
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

    /// The modules that a file imports, whatever stands before `import` (access level, attribute, kind).
    static func imports(of text: String) -> Set<String> {
        var found: Set<String> = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                words[..<index].allSatisfy({ $0.hasPrefix("@") || ["public", "internal", "private"].contains($0) })
            else { continue }
            let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            let name = kinds.contains(words[index + 1]) && index + 2 < words.count ? words[index + 2] : words[index + 1]
            found.insert(String(name.prefix { $0 != "." }))
        }
        return found
    }

    /// The text without comments and string literals, so that a word in prose is no finding.
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

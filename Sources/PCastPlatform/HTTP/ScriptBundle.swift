import COpenSSL
import PCastCore

/// A script with a module and all modules that it imports, so that a page needs no further requests for them.
///
/// Each module is a function, whose result has the exports. The results are properties of the global object
/// `pcastModules`, by the names of the files. The scripts of a page share it. Comments that begin a line are left out.
///
/// The files of the pages use few forms of the language, and others are errors: imports of names in braces, exports of
/// declarations, and no imports in a circle. A line that begins with a comment is not within a template literal.
struct ScriptBundle {
    /// The reason why modules cannot be bundled.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The names of the modules in the order in which they are evaluated.
    private(set) var names: [String] = []
    /// The script.
    private(set) var text = "globalThis.pcastModules ??= {};\n"

    /// Creates a script.
    /// - Parameters:
    ///   - entry: the name of the module
    ///   - earlier: the names of the modules in earlier scripts of the page
    ///   - source: returns the text of a module; nil if there is none
    /// - Throws: a failure if a module does not exist, or has a form that is not supported
    init(_ entry: String, after earlier: [String] = [], source: (String) -> [UInt8]?) throws(Failure) {
        var visited = Set(earlier)
        try add(entry, within: [], &visited, source)
    }

    private mutating func add(
        _ name: String, within path: [String], _ visited: inout Set<String>, _ source: (String) -> [UInt8]?
    ) throws(Failure) {
        guard !path.contains(name) else {
            throw Failure(description: "\(name) imports itself by way of \(path.joined(separator: ", "))")
        }
        guard visited.insert(name).inserted else { return }
        guard let bytes = source(name) else { throw Failure(description: "there is no module \(name)") }
        let module = try BundledModule(name, String(decoding: bytes, as: UTF8.self))
        // A module is visited before it has been added only while its imports are.
        for other in module.imports { try add(other, within: path + [name], &visited, source) }
        names.append(name)
        text += module.function
    }
}

/// A module as a part of a script.
private struct BundledModule {
    /// The names of the imported modules.
    let imports: [String]
    /// The assignment of the exports to the property of the module.
    let function: String

    private typealias Failure = ScriptBundle.Failure

    init(_ name: String, _ text: String) throws(ScriptBundle.Failure) {
        var (lines, imports, exports): ([String], [String], [String]) = ([], [], [])
        var statement: String?
        var (isInComment, isInTemplate) = (false, false)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if isInTemplate {
                lines.append(String(line))
                if Self.changesTemplate(line) { isInTemplate = false }
                continue
            }
            var code = line.drop { $0 == " " }
            while isInComment || code.hasPrefix("/*") {
                guard let end = code.firstRange(of: "*/") else {
                    (isInComment, code) = (true, "")
                    break
                }
                isInComment = false
                code = code[end.upperBound...].drop { $0 == " " }
            }
            if code.isEmpty || code.hasPrefix("//") { continue }
            if statement != nil || line.hasPrefix("import ") {
                let begun = statement.map { "\($0) " } ?? ""
                statement = begun + code
                guard code.hasSuffix(";") else { continue }
                let (module, declaration) = try Self.imported(statement ?? "", in: name)
                imports.append(module)
                lines.append(declaration)
                statement = nil
                continue
            }
            if line.hasPrefix("export ") {
                code = code.dropFirst("export ".count)
                exports.append(try Self.declaredName(code, in: name))
            }
            lines.append(String(code))
            isInTemplate = Self.changesTemplate(code)
        }
        guard !isInComment, !isInTemplate, statement == nil else {
            throw Failure(description: "\(name) ends within a comment, a template literal or an import")
        }
        self.imports = imports
        let body = lines.joined(separator: "\n")
        let result = exports.joined(separator: ", ")
        function = "pcastModules[\"\(name)\"] = (() => {\n\"use strict\";\n\(body)\nreturn { \(result) };\n})();\n"
        // The parser of HTML would end the script, or treat the rest as a comment.
        for text in ["</script", "<!--"] where function.lowercased().contains(text) {
            throw Failure(description: "\(name) contains \(text): escape it")
        }
    }

    /// Whether a line begins or ends a template literal, because it has an odd number of unescaped delimiters.
    private static func changesTemplate(_ line: Substring) -> Bool {
        var (isOdd, isEscaped) = (false, false)
        for byte in line.utf8 {
            if byte == UInt8(ascii: "`"), !isEscaped { isOdd.toggle() }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return isOdd
    }

    /// Returns the name of an imported module, and the declaration that replaces the import.
    private static func imported(
        _ statement: String, in name: String
    ) throws(ScriptBundle.Failure) -> (module: String, declaration: String) {
        let failure = Failure(description: "\(name) has an import that is not of names in braces: \(statement)")
        guard statement.hasPrefix("import {"), let end = statement.firstIndex(of: "}") else { throw failure }
        let parts = statement[end...].split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "} from ", parts[2] == ";", let module = parts[1].split(separator: "/").last
        else { throw failure }
        let words = statement[..<end].dropFirst("import {".count).split(separator: ",")
            .map { $0.split(separator: " ") }.filter { !$0.isEmpty }
        let names = words.map { $0.count == 3 && $0[1] == "as" ? "\($0[0]): \($0[2])" : $0.joined(separator: " ") }
        return (String(module), "const { \(names.joined(separator: ", ")) } = pcastModules[\"\(module)\"];")
    }

    /// Returns the name that a declaration begins with.
    private static func declaredName(_ code: Substring, in name: String) throws(ScriptBundle.Failure) -> String {
        let words = code.split(separator: " ", maxSplits: 3)
        let index = words.first == "async" ? 2 : 1
        guard words.count > index, ["function", "class", "const"].contains(words[index - 1]),
            case let declared = words[index].prefix(while: { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }),
            !declared.isEmpty
        else { throw Failure(description: "\(name) has an export that is not a declaration: \(code)") }
        return String(declared)
    }
}

/// A page that contains its scripts and all modules that they import.
///
/// In the file of the page, the scripts are modules of the folder `/assets/`, each on a line of its own. A script with
/// `async` stays a module. Another one is evaluated where it is, before the parser continues, so it must not need the
/// elements after it.
struct BundledPage {
    /// The page.
    private(set) var text = ""
    /// The sources of its scripts for a Content Security Policy, which are their hashes (CSP 3, section 2.3.1).
    private(set) var scriptSources: [String] = []
    /// The names of the modules in the order in which they are evaluated.
    private(set) var modules: [String] = []

    /// Creates a page from its file. Throws `ScriptBundle.Failure` if the scripts cannot be within it.
    init(_ file: [UInt8], source: (String) -> [UInt8]?) throws(ScriptBundle.Failure) {
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            if let name = Self.name(in: line, "<script type=\"module\" src=\"") {
                try addScript(name, isAsync: false, source)
            } else if let name = Self.name(in: line, "<script type=\"module\" async src=\"") {
                try addScript(name, isAsync: true, source)
            } else if line.hasPrefix("<script") {
                throw ScriptBundle.Failure(description: "the page cannot contain the file of this element: \(line)")
            } else {
                text += "\(line)\n"
            }
        }
        text.removeLast()
    }

    /// Returns the name of the file that the script on a line refers to; nil if it is another element.
    private static func name(in line: Substring, _ start: String) -> String? {
        let (start, end) = (start + "/assets/", "\"></script>")
        guard line.hasPrefix(start), line.hasSuffix(end) else { return nil }
        return String(line.dropFirst(start.count).dropLast(end.count))
    }

    private mutating func addScript(
        _ entry: String, isAsync: Bool, _ source: (String) -> [UInt8]?
    ) throws(ScriptBundle.Failure) {
        let bundle = try ScriptBundle(entry, after: modules, source: source)
        // import.meta exists in modules only.
        guard isAsync || !bundle.text.contains("import.meta") else {
            throw ScriptBundle.Failure(description: "\(entry) uses import.meta outside of a module")
        }
        modules += bundle.names
        scriptSources.append(Self.hash(bundle.text))
        text += "<script\(isAsync ? " type=\"module\" async" : "")>\(bundle.text)</script>\n"
    }

    private static func hash(_ text: String) -> String {
        "'sha256-\(Base64.encode(FileDigest.sha256(Array(text.utf8))))'"
    }
}

/// Digests of files.
enum FileDigest {
    /// Returns the SHA-256 of bytes.
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            SHA256(bytes, bytes.count, digest.baseAddress)
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }
}

import Foundation
import Testing

@Suite("Dependencies of the manifest")
struct DependencyTests {
    private let manifest: String

    init() throws {
        manifest = try String(contentsOf: Sources.root.appendingPathComponent("Package.swift"), encoding: .utf8)
    }

    private static func names(_ pattern: String, in text: some StringProtocol) throws -> Set<String> {
        let matches = try String(text).matches(of: Regex(pattern))
        return Set(matches.compactMap { $0.output[1].substring.map { String($0) } })
    }

    @Test("each package is used by a target")
    func packages() throws {
        let declared = try Self.names(#"\.package\(url: "[^"]*/([^/"]+)""#, in: manifest)
        let used = try Self.names(#"package: "([^"]+)""#, in: manifest)
        #expect(declared == used)
    }

    @Test("a module imports each dependency that the manifest gives it")
    func dependencies() throws {
        let modules = Set(Sources.modules())
        var count = 0
        for target in try Sources.targets() {
            let module = modules.contains(target.name) ? target.name : "PCast\(target.name)"
            guard modules.contains(module) else { continue }
            let imports = Sources.files(below: "Sources/\(module)")
                .reduce(into: Set<String>()) { $0.formUnion(Sources.imports(of: $1.text)) }
            let dependencies = try Self.names(#""(C[A-Z][A-Za-z0-9]+|PCast[A-Za-z]*)""#, in: target.text)
                .union(try Self.names(#"\.product\(name: "(\w+)""#, in: target.text))
                .subtracting([module])
            count += dependencies.count
            let unused = dependencies.subtracting(imports)
            #expect(unused.isEmpty, "\(module) imports no \(unused.sorted())")
        }
        #expect(count > 100)
    }

    @Test("each C library is imported by a module or a test")
    func libraries() throws {
        let imports = (Sources.files(below: "Sources") + Sources.files(below: "Tests"))
            .reduce(into: Set<String>()) { $0.formUnion(Sources.imports(of: $1.text)) }
        let folders = try FileManager.default.contentsOfDirectory(atPath: Sources.root.path)
            .filter { $0.range(of: "^C[A-Z][A-Za-z0-9]+$", options: .regularExpression) != nil && $0 != "CHANGELOG" }
        #expect(folders.count > 5)
        for folder in folders { #expect(imports.contains(folder), "nothing imports \(folder)") }
    }

    /// The names of the packages that the text of a Python program imports at its top level.
    private static func pythonImports(_ text: String) throws -> Set<String> {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("import ") || $0.hasPrefix("from ") }
        return try lines.reduce(into: []) { found, line in
            let names = line.hasPrefix("from ") ? line.prefix { $0 != "," } : line
            found.formUnion(try Self.names(#"(?:^import |^from |, )([A-Za-z_0-9]+)"#, in: names))
        }
    }

    @Test("a peer program requires each package that it and its modules import, before it imports one")
    func peers() throws {
        let folder = Sources.root.appendingPathComponent("Tests/PCastEndToEndTests/peers")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "py" }
        let programs = try Dictionary(
            uniqueKeysWithValues: files.map {
                ($0.deletingPathExtension().lastPathComponent, try String(contentsOf: $0, encoding: .utf8))
            })
        let required = try programs.mapValues { text -> Set<String> in
            guard let call = text.range(of: #"program\.require\([\s\S]*?\)\n"#, options: .regularExpression) else {
                return []
            }
            return try Self.names(#""([a-z_]+)[a-z_.]*"[,)]"#, in: text[call]).subtracting(["bin", "python"])
        }
        let packages = required.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(packages.isSuperset(of: ["aiortc", "edgeauth", "gi", "google", "websockets"]))
        for (program, own) in required where !own.isEmpty {
            var (modules, imported, rest) = (Set([program]), Set<String>(), [program])
            while let module = rest.popLast() {
                let imports = try Self.pythonImports(try #require(programs[module]))
                imported.formUnion(imports)
                for other in imports where programs[other] != nil && modules.insert(other).inserted {
                    rest.append(other)
                }
            }
            let missing = imported.intersection(packages).subtracting(own)
            #expect(missing.isEmpty, "\(program).py imports \(missing.sorted()), which it does not require")
        }
    }
}

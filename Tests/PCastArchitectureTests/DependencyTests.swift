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
}

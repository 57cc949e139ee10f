import Foundation
import Testing

/// A row of the table of imports in `docs/ARCHITECTURE.md`, the only source of the permitted imports of a module.
private struct ModuleRow {
    let module: String
    let layer: Int
    let imports: Set<String>

    /// Parses a line of the document; nil if the line is not a row of the table.
    init?(_ line: String) {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        guard line.hasPrefix("| `PCast"), cells.count == 4, let layer = Int(cells[1]) else { return nil }
        let marks = CharacterSet(charactersIn: "` ")
        module = cells[0].trimmingCharacters(in: marks)
        self.layer = layer
        imports = Set(cells[3].split(separator: ",").map { $0.trimmingCharacters(in: marks) }).subtracting(["nothing"])
    }

    static func all() -> [ModuleRow] {
        let document = Sources.root.appendingPathComponent("docs/ARCHITECTURE.md")
        let text = (try? String(contentsOf: document, encoding: .utf8)) ?? ""
        return text.components(separatedBy: "\n").compactMap { ModuleRow($0) }
    }
}

/// The rows of the table. They are empty if the document has no table, and then the test of completeness fails.
private let rows = ModuleRow.all()
private let allowed = Dictionary(rows.map { ($0.module, $0.imports) }, uniquingKeysWith: { first, _ in first })

/// The modules of layers 0 and 1, and folders of another module, that have no clock, socket, thread, lock or randomness.
private let pure =
    rows.filter { $0.layer <= 1 }.map(\.module)
    + ["PCastTestSupport/InMemoryHarness", "PCastTestSupport/NetworkEmulation"]

/// The modules of the standard library and the C library. The pure modules may not import the last four.
private let systems: Set<String> = [
    "Swift", "Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization",
]

@Suite("The modules follow the architecture document")
struct LayeringTests {
    @Test("every module is in the table, and the table has no removed module")
    func tableIsComplete() {
        #expect(Sources.modules() == allowed.keys.sorted())
    }

    @Test("a module imports no module of a higher layer", arguments: allowed.keys.sorted())
    func layers(of module: String) throws {
        let row = try #require(rows.first { $0.module == module })
        let higher = rows.filter { $0.layer > row.layer && row.imports.contains($0.module) }.map(\.module)
        #expect(higher.isEmpty, "\(module) is in layer \(row.layer) and imports \(higher)")
    }

    @Test("a module imports only what the table allows", arguments: allowed.keys.sorted())
    func imports(of module: String) {
        for (path, text) in Sources.files(below: "Sources/\(module)") {
            let others = Sources.imports(of: text).subtracting(systems)
            let forbidden = others.subtracting(allowed[module] ?? []).subtracting([module])
            #expect(forbidden.isEmpty, "\(path) imports \(forbidden.sorted()), which \(module) must not depend on")
        }
    }

    @Test("the core imports no operating system", arguments: pure)
    func coreImportsNoSystem(_ module: String) {
        for (path, text) in Sources.files(below: "Sources/\(module)") where !path.hasSuffix(".pb.swift") {
            let forbidden = Sources.imports(of: text).intersection(
                ["Foundation", "Glibc", "Dispatch", "Synchronization"])
            #expect(forbidden.isEmpty, "\(path) imports \(forbidden.sorted())")
        }
    }

    @Test("the core uses no clock, randomness, thread, lock or socket", arguments: pure)
    func coreIsPure(_ module: String) throws {
        let calls = [
            #"\b(Continuous|Suspending)Clock\b"#, #"\bDate\(\)"#, #"\bclock_gettime\b"#, #"\bgettimeofday\b"#,
            #"\bSystemRandomNumberGenerator\b"#, #"\.random\(in: [^,()]*\)"#, #"\.randomElement\(\)"#,
            #"\.shuffled?\(\)"#, #"\bRAND_bytes\b"#, #"\bThread\b\("#, #"\bpthread_"#, #"\bMutex\b"#, #"\bNSLock\b"#,
            #"\bDispatchQueue\b"#, #"\bTask(\.detached)? \{"#, #"\bsocket\("#, #"\bsleep\("#, #"\bactor\b"#,
            #"\bprint\("#,
        ]
        for (path, text) in Sources.files(below: "Sources/\(module)") {
            let code = Sources.code(of: text)
            for call in calls {
                let found = code.range(of: call, options: .regularExpression).map { String(code[$0]) }
                #expect(found == nil, "\(path) has \(found ?? "")")
            }
        }
    }

    @Test("the manifest gives a target no dependency that the table forbids", arguments: allowed.keys.sorted())
    func manifest(of module: String) throws {
        let short = String(module.dropFirst("PCast".count))
        let targets = try Sources.targets()
        let target = try #require(targets.first { $0.name == module || $0.name == short }, "\(module) is a target")
        let pattern = try Regex(#""(C[A-Z][A-Za-z]+|PCast[A-Za-z]*)""#)
        for match in target.text.matches(of: pattern) {
            let name = String(match.output[1].substring ?? "")
            guard name != module else { continue }
            #expect(allowed[module]?.contains(name) == true, "the manifest allows \(module) to use \(name)")
        }
    }

    @Test("each C library enters through one folder: a module map and a shim")
    func systemLibraries() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Sources.root.path)
            .filter { $0.range(of: "^C[A-Z]", options: .regularExpression) != nil && !$0.hasSuffix(".md") }
        #expect(folders.contains("COpenSSL"))
        for folder in folders {
            let files = try FileManager.default.contentsOfDirectory(
                atPath: Sources.root.appendingPathComponent(folder).path)
            #expect(files.sorted() == ["module.modulemap", "shim.h"], "\(folder) holds \(files)")
        }
    }
}

import Foundation
import Testing

extension EndToEnd {
    /// Programs of other packages, which use the libraries of this one.
    @Suite("Programs outside the package", .enabled(if: ThisMachine.hasSwift))
    struct OutsideProgramTests {
        /// The libraries of the package. The folder `Tests/OutsidePrograms` has a program for each.
        private static let libraries = [
            "PCast", "PCastWindow", "PCastPlatform", "PCastPlayback", "PCastEdgeAuth", "PCastCompatibility",
        ]

        private static func program(_ library: String) -> String {
            "\(BuiltProgram.repository)/Tests/OutsidePrograms/\(library).swift"
        }

        /// Returns the modules that the program of a library imports.
        private static func imports(_ library: String) throws -> [String] {
            try String(contentsOfFile: program(library), encoding: .utf8).split(separator: "\n")
                .compactMap { $0.firstMatch(of: /^(?:@?\w+ )*import (.+)$/).map { String($0.1) } }
        }

        @Test("each library has a program with one import")
        func complete() throws {
            let manifest = try String(contentsOfFile: "\(BuiltProgram.repository)/Package.swift", encoding: .utf8)
            let products = manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
            #expect(products == Self.libraries)
            for library in Self.libraries {
                let imports = try Self.imports(library)
                #expect(imports == [library])
            }
        }

        @Test("a program uses a library with one import", arguments: libraries)
        func compiles(_ library: String) async throws {
            try await TestWorkspace.run { workspace in
                let compiler = try OutsideCompiler.current.get()
                async let swift5 = compiler.check(Self.program(library), as: .swift5, in: workspace)
                async let swift6 = compiler.check(Self.program(library), as: .swift6, in: workspace)
                for (language, messages) in try await [("Swift 5", swift5), ("Swift 6", swift6)] {
                    #expect(messages.isEmpty, "\(language): \(messages)")
                }
            }
        }

        @Test("the programs of Examples use nothing from inside the package")
        func examples() async throws {
            try await TestWorkspace.run { workspace in
                let compiler = try OutsideCompiler.current.get()
                let folder = "\(BuiltProgram.repository)/Examples"
                let examples = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(examples.contains("QuickStart"))
                try await withThrowingTaskGroup { group in
                    for example in examples {
                        group.addTask {
                            let messages = try await compiler.check(
                                "\(folder)/\(example)/main.swift", as: .swift6, in: workspace)
                            #expect(messages.isEmpty, "\(example): \(messages)")
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }

        @Test(
            "a library does not export the other names of a module whose types it exports",
            arguments: [
                ("PCast", "TimeSpan", "PCastCore"), ("PCastWindow", "AudioFrame", "PCastCore"),
                ("PCastPlatform", "SFU", "PCastSFU"), ("PCastPlayback", "MediaPlaylist", "PCastHLS"),
                ("PCastEdgeAuth", "WallClockReference", "PCastCore"),
                ("PCastCompatibility", "FrameExport", "PCastCodecs"),
            ])
        func hides(_ library: String, _ name: String, _ module: String) async throws {
            try await TestWorkspace.run { workspace in
                let compiler = try OutsideCompiler.current.get()
                @Sendable func messages(with imported: String) async throws -> String {
                    let file = workspace.path("with-\(imported).swift")
                    try "import \(imported)\n\n_ = \(name).self\n"
                        .write(toFile: file, atomically: true, encoding: .utf8)
                    return try await compiler.check(file, as: .swift6, in: workspace)
                }
                async let inside = messages(with: module)
                async let outside = messages(with: library)
                let (own, others) = try await (inside, outside)
                // The module itself has the name, and no error occurs.
                #expect(own.isEmpty, "\(module): \(own)")
                #expect(others.contains("cannot find '\(name)' in scope"), "\(library): \(others)")
            }
        }

        @Test(
            "a new package that depends on this one builds a program for each library",
            .enabled(if: ThisMachine.isFull), .timeLimit(.minutes(120)))
        func package() async throws {
            try await TestWorkspace.run { workspace in
                let folder = try await Self.createPackage(in: workspace)
                try await workspace.run(
                    "swift",
                    ["build", "--package-path", folder, "--disable-index-store", "--disable-automatic-resolution"],
                    limit: .seconds(6_600))
                // This program needs neither a platform nor a device.
                let printed = try await workspace.run("\(folder)/.build/debug/UsePCastEdgeAuth", []).output
                #expect(printed.first?.contains("1700003600000") == true, "\(printed)")
                for library in Self.libraries {
                    #expect(FileManager.default.isExecutableFile(atPath: "\(folder)/.build/debug/Use\(library)"))
                }
            }
        }

        /// Creates a package with a program for each library, and returns its path. The sources of the dependencies are
        /// copied, because a test uses no other host.
        private static func createPackage(in workspace: TestWorkspace) async throws -> String {
            let folder = workspace.path("outside")
            let files = FileManager.default
            try files.createDirectory(atPath: "\(folder)/.build", withIntermediateDirectories: true)
            // The name of a local package is that of its folder.
            let name = URL(fileURLWithPath: BuiltProgram.repository).lastPathComponent
            let targets = libraries.map { library in
                """
                .executableTarget(
                    name: "Use\(library)", dependencies: [.product(name: "\(library)", package: "\(name)")]),
                """
            }
            let manifest = """
                // swift-tools-version: 6.2
                import PackageDescription

                let package = Package(
                    name: "outside", dependencies: [.package(path: "\(BuiltProgram.repository)")],
                    targets: [
                \(targets.joined(separator: "\n"))
                    ])
                """
            try manifest.write(toFile: "\(folder)/Package.swift", atomically: true, encoding: .utf8)
            for library in libraries {
                let sources = "\(folder)/Sources/Use\(library)"
                try files.createDirectory(atPath: sources, withIntermediateDirectories: true)
                try files.copyItem(atPath: program(library), toPath: "\(sources)/main.swift")
            }
            try files.copyItem(
                atPath: "\(BuiltProgram.repository)/Package.resolved", toPath: "\(folder)/Package.resolved")
            let build = try OutsideCompiler.buildFolder().path
            for part in ["repositories", "checkouts", "workspace-state.json"] {
                try await workspace.run("cp", ["-a", "--reflink=auto", "\(build)/\(part)", "\(folder)/.build/"])
            }
            return folder
        }
    }
}

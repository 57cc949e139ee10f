import Foundation

/// The Swift compiler, for programs that are outside the package: they see the modules of this build, and no
/// declaration of the access level `package`.
struct OutsideCompiler: Sendable {
    /// The language of a program: Swift 6 with the upcoming features that concern imports, or Swift 5.
    enum Language: Sendable {
        case swift5, swift6

        fileprivate var arguments: [String] {
            let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
            return switch self {
            case .swift5: ["-swift-version", "5"]
            case .swift6: ["-swift-version", "6"] + features.flatMap { ["-enable-upcoming-feature", $0] }
            }
        }
    }

    /// The programs of the package whose compiler arguments name the modules of all libraries and their C modules.
    private static let references = ["QuickStartExample", "EmbedExample", "PCastViewing"]

    /// The compiler, as the build's description names it. The description is long, so it is read once.
    static let current = Result { try OutsideCompiler() }

    private let compiler: String
    private let arguments: [String]

    /// Reads the arguments with which the build compiled programs of the package, from the build's description.
    private init() throws {
        let description = try Data(contentsOf: Self.description())
        let commands = try Self.references.map { try Self.command(of: $0, in: description) }
        compiler = commands[0][0]
        var found: [[String]] = []
        for command in commands {
            for argument in Self.searchPaths(command) where !found.contains(argument) { found.append(argument) }
        }
        arguments = found.flatMap { $0 }
    }

    /// The folder of the build, with the dependencies' sources.
    static func buildFolder() throws -> URL {
        try description().deletingLastPathComponent()
    }

    /// Returns the file with the commands of the build: `debug.yaml` or `release.yaml` in the folder of the build.
    private static func description() throws -> URL {
        let programs = URL(fileURLWithPath: try BuiltProgram.path("pcast")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        // The programs are in BUILD/TRIPLE/CONFIGURATION. The tests may run with programs from elsewhere.
        let name = "\(programs.lastPathComponent).yaml"
        let builds = [
            programs.deletingLastPathComponent().deletingLastPathComponent().path, "\(BuiltProgram.repository)/.build",
        ]
        let paths = builds.map { "\($0)/\(name)" }
        guard let path = paths.first(where: FileManager.default.fileExists) else {
            throw EndToEndFailure("there is no description of the build; looked for \(paths.joined(separator: ", "))")
        }
        return URL(fileURLWithPath: path)
    }

    /// Returns the compiler and its arguments for a program of the package.
    private static func command(of program: String, in description: Data) throws -> [String] {
        // The command that links the program has these arguments too, but not first.
        guard let name = description.range(of: Data("/swiftc\",\"-module-name\",\"\(program)\"".utf8)) else {
            throw EndToEndFailure("the build has no command for \(program)")
        }
        let lineBreak = UInt8(ascii: "\n")
        let start = description[..<name.lowerBound].lastIndex(of: lineBreak) ?? description.startIndex
        let end = description[name.upperBound...].firstIndex(of: lineBreak) ?? description.endIndex
        guard let list = description[start..<end].firstIndex(of: UInt8(ascii: "[")) else {
            throw EndToEndFailure("the command for \(program) is no list")
        }
        return try JSONDecoder().decode([String].self, from: description[list..<end])
    }

    /// Returns the arguments by which the compiler finds modules: search paths, module maps and the target.
    private static func searchPaths(_ command: [String]) -> [[String]] {
        var found: [[String]] = []
        var rest = command.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "-I", "-target", "-module-cache-path": found.append([argument, rest.popFirst() ?? ""])
            case "-Xcc":
                guard let value = rest.popFirst() else { break }
                if value == "-I" {
                    found.append([argument, value, rest.popFirst() ?? "", rest.popFirst() ?? ""])
                } else if value.hasPrefix("-I") || value.hasPrefix("-fmodule-map-file=") {
                    found.append([argument, value])
                }
            case _ where argument.hasPrefix("-I"): found.append([argument])
            default: break
            }
        }
        return found
    }

    /// Checks the types of a program, and returns the errors and warnings of the compiler; empty if there are none.
    func check(_ file: String, as language: Language, in workspace: TestWorkspace) async throws -> String {
        let program = try workspace.start(
            compiler,
            ["-typecheck", "-module-name", "OutsideProgram", "-warnings-as-errors"] + language.arguments + arguments
                + [file])
        let status = try await program.exitStatus(within: .longestRun + .seconds(20))
        let messages = (program.output.lines.values + program.messages.lines.values).joined(separator: "\n")
        return status == 0 ? messages : "the compiler exited with \(status)\n\(messages)"
    }
}

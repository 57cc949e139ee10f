import Foundation

/// Where the programs that are tested stand.
enum BuiltProgram {
    /// A program of this package: next to the tests that were built with it, or in the folder of `PCAST_BIN`.
    static func path(_ name: String) throws -> String {
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
            throw EndToEndFailure("\(name) is not built; looked in \(folders.joined(separator: ", "))")
        }
        return path
    }

    /// A program of the operating system; nil where it is not installed.
    static func installed(_ name: String) -> String? {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = search.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]
        return folders.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// The folder of the peers' programs.
    static let peers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("peers").path

    /// The repository.
    static let repository = (1...4).reduce(#filePath) { path, _ in parent(path) }

    /// The script that runs things in the virtual machine.
    static let machine = "\(repository)/scripts/machine"

    /// The program that runs these tests, and all others of the package.
    static func testBundle() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    private static let folders: [String] = {
        if let chosen = ProcessInfo.processInfo.environment["PCAST_BIN"] {
            return [FileManager.default.isExecutableFile(atPath: "\(chosen)/pcast") ? chosen : parent(chosen)]
        }
        // The test bundle is an argument of the program that runs it, and stands beside the programs.
        let bundles = CommandLine.arguments.filter { $0.contains(".xctest") || $0.hasSuffix("PackageTests") }
        return [Bundle.main.bundlePath] + bundles.map(parent) + [parent(CommandLine.arguments[0])]
            + ["release", "debug"].map { "\(repository)/.build/\($0)" }
    }()

    private static func parent(_ path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

import Foundation

/// The paths of the programs under test.
enum BuiltProgram {
    /// Returns the path of a program of this package, beside the tests or in the folder of `PCAST_BIN`.
    static func path(_ name: String) throws -> String {
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
            throw EndToEndFailure("\(name) is not built; looked in \(folders.joined(separator: ", "))")
        }
        return path
    }

    /// Returns the path of a program of the operating system; nil if it is not installed.
    static func installed(_ name: String) -> String? {
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = search.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]
        return folders.map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }

    /// The folder of the peers' programs.
    static let peers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("peers").path

    /// The folder of the repository.
    static let repository = (1...4).reduce(#filePath) { path, _ in parent(path) }

    /// The script that runs commands in the virtual machine.
    static let machine = "\(repository)/scripts/machine"

    /// Returns the path of the program that runs all tests of the package.
    static func testBundle() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    private static let folders: [String] = {
        if let chosen = ProcessInfo.processInfo.environment["PCAST_BIN"] {
            return [FileManager.default.isExecutableFile(atPath: "\(chosen)/pcast") ? chosen : parent(chosen)]
        }
        // The test bundle is an argument of the program that runs it, and is beside the other programs.
        let bundles = CommandLine.arguments.filter { $0.contains(".xctest") || $0.hasSuffix("PackageTests") }
        return [Bundle.main.bundlePath] + bundles.map(parent) + [parent(CommandLine.arguments[0])]
            + ["release", "debug"].map { "\(repository)/.build/\($0)" }
    }()

    private static func parent(_ path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

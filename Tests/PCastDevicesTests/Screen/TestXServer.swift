import Foundation

/// A test's own X server with a screen in memory (Xvfb). It finds a display number, and has no network connection.
final class TestXServer: Sendable {
    /// The display, such as `:N`.
    let display: String
    private let program: TestProgram
    private let folder: String?

    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb")

    /// Starts an X server. Screens are sizes with depths, such as `800x600x24`. Further options are those of Xvfb.
    /// If `wantsCookie` is true, the server rejects clients without the secret.
    init(screens: [String] = ["800x600x24"], options: [String] = [], wantsCookie: Bool = false) throws {
        var arguments = ["-displayfd", "1", "-nolisten", "tcp", "-noreset"]
        for (index, screen) in screens.enumerated() { arguments += ["-screen", "\(index)", screen] }
        folder = wantsCookie ? try Self.folderWithCookie() : nil
        if let folder { arguments += ["-auth", "\(folder)/cookie"] }
        let output = TestPipe()
        program = try TestProgram("/usr/bin/Xvfb", arguments + options, output: output.writeEnd)
        close(output.writeEnd)
        defer { close(output.readEnd) }
        // The server writes the number when it listens.
        let number = output.read { $0 == 0x0A }.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !number.isEmpty else { throw TestProgram.DidNotStart() }
        display = ":" + number
    }

    deinit {
        end()
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func folderWithCookie() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // The file has one entry: any host, any display, the protocol's name and sixteen bytes.
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        let entry = [0xFF, 0xFF, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, 16] + [UInt8](repeating: 7, count: 16)
        try Data(entry).write(to: URL(fileURLWithPath: "\(folder)/cookie"))
        return folder
    }

    /// Ends the server. A second call has no effect.
    func end() { program.terminate() }

    func freeze() { program.freeze() }
}

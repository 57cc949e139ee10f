import Foundation
import PCastCore
import Testing

@testable import PCastDevices

@Suite("The file of device rules")
struct DeviceRulesFileTests {
    /// A temporary folder that is deleted after the test.
    private final class Folder {
        let path: String

        init() throws {
            path = FileManager.default.temporaryDirectory.appending(path: "rules-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, to name: String) throws -> String {
            let file = URL(filePath: path).appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
            return file.path
        }
    }

    private static func text(rules: Int) -> String {
        "{ rules: [" + String(repeating: "{ match: { name: '*' } },", count: rules) + "] }"
    }

    @Test("the variable's file has priority over the user's, and that over the machine's; no file means no rules")
    func order() throws {
        let folder = try Folder()
        let system = "\(folder.path)/etc/devices.yaml"
        var environment = ["HOME": folder.path]
        #expect(try DeviceRules.standard(environment: environment, system: system) == DeviceRules())
        #expect(try DeviceRules.standard(environment: [:], system: system) == DeviceRules())
        _ = try folder.write(Self.text(rules: 1), to: "etc/devices.yaml")
        #expect(try DeviceRules.standard(environment: environment, system: system).count == 1)
        #expect(try DeviceRules.standard(environment: [:], system: system).count == 1)
        _ = try folder.write(Self.text(rules: 2), to: ".config/pcast/devices.yaml")
        #expect(try DeviceRules.standard(environment: environment, system: system).count == 2)
        _ = try folder.write(Self.text(rules: 3), to: "xdg/pcast/devices.yaml")
        environment["XDG_CONFIG_HOME"] = "\(folder.path)/xdg"
        #expect(try DeviceRules.standard(environment: environment, system: system).count == 3)
        environment["PCAST_DEVICES"] = try folder.write(Self.text(rules: 4), to: "mine.yaml")
        #expect(try DeviceRules.standard(environment: environment, system: system).count == 4)
        environment["PCAST_DEVICES"] = ""
        #expect(try DeviceRules.standard(environment: environment, system: system).count == 3)
    }

    @Test("a named file that is missing is an error with its name")
    func missing() throws {
        let folder = try Folder()
        let path = "\(folder.path)/gone.yaml"
        let error = try #require(throws: DeviceRulesError.self) {
            try DeviceRules.standard(environment: ["PCAST_DEVICES": path])
        }
        #expect("\(error)" == "\(path): the file does not exist")
    }

    @Test("an invalid file is an error with its name and its line")
    func wrong() throws {
        let folder = try Folder()
        let path = try folder.write(
            "{ rules: [\n{ match: { name: '*' },\n hidden: 1 } ] }", to: ".config/pcast/devices.yaml")
        let error = try #require(throws: DeviceRulesError.self) {
            try DeviceRules.standard(environment: ["HOME": folder.path])
        }
        #expect("\(error)" == "\(path), line 3: “hidden” must be true or false")
    }

    @Test("a file that is unreadable, too large or no text is an error")
    func unreadable() throws {
        let folder = try Folder()
        let directory = try #require(throws: DeviceRulesError.self) { try DeviceRules(file: folder.path) }
        #expect(directory.file == folder.path && directory.reason.contains("cannot be read"))
        let large = try folder.write(String(repeating: " ", count: 64 * 1_024 + 1), to: "large")
        #expect(throws: DeviceRulesError.self) { try DeviceRules(file: large) }
        let full = try folder.write("{}" + String(repeating: " ", count: 64 * 1_024 - 2), to: "full")
        #expect(try DeviceRules(file: full).count == 0)
        let binary = "\(folder.path)/binary"
        try Data([0xFF, 0xFE, 0x00]).write(to: URL(filePath: binary))
        let error = try #require(throws: DeviceRulesError.self) { try DeviceRules(file: binary) }
        #expect(error.reason.contains("UTF-8"))
    }

    @Test("configs/devices.yaml changes nothing as it is, and each of its examples is a rule")
    func example() throws {
        var root = URL(filePath: #filePath)
        while !FileManager.default.fileExists(atPath: root.appending(path: "configs/devices.yaml").path) {
            try #require(root.path != "/", "configs/devices.yaml is not found")
            root.deleteLastPathComponent()
        }
        let text = try String(contentsOf: root.appending(path: "configs/devices.yaml"), encoding: .utf8)
        #expect(try DeviceRules(text: text) == DeviceRules())
        // The examples are the comments below “rules:” that are not sentences.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.wholeMatch(of: #/  # ((- |  )[a-zA-Z]+:.*)/#).map { "  \($0.1)" } ?? String(line)
        }
        let rules = try DeviceRules(text: lines.joined(separator: "\n"))
        #expect(rules.count == 5)
        var device = ConstraintDevices.webcam
        device.identity = DeviceIdentity(name: "Webcam", vendor: "046d", product: "082d")
        rules.apply(to: &device)
        #expect(device.info.facingMode == .user && device.info.name == "Desk camera")
    }
}

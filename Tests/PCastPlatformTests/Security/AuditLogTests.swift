import Foundation
import Logging
import PCastCore
import PCastJSON
import PCastJWT
import PCastTestSupport
import Testing

@testable import PCastPlatform

@Suite("The audit log")
struct AuditLogTests {
    /// Runs a platform with a data directory, and returns the entries of the file at the end.
    private static func entries(_ body: (TestPlatform) async throws -> Void) async throws -> [JSONObject] {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("audit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await TestPlatform.runConfigured(configure: { $0.storage.directory = directory.path }) { platform in
            try await body(platform)
        }
        let file = directory.appendingPathComponent(AuditLog.name)
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            try #require(JSONValue(Array($0.utf8)).object)
        }
    }

    @Test("requests that may change something are recorded with their result, and others are not")
    func requests() async throws {
        let entries = try await Self.entries { platform async throws in
            #expect(try await platform.ask("GET", "/pcast/streams").status == 200)
            #expect(try await platform.ask("HEAD", "/pcast/streams").status == 200)
            #expect(try await platform.ask("PUT", "/pcast/key/camera", #"{"secret-of-the-client":1}"#).status == 200)
            #expect(try await platform.ask("DELETE", "/pcast/key/unknown").status == 404)
            let forged = ["Authorization": "Basic Zmlyc3Q6d3Jvbmc="]
            #expect(try await platform.send("DELETE", "/pcast/key/camera?a=b", forged).status == 401)
        }
        #expect(entries.compactMap { $0["method"]?.string } == ["PUT", "DELETE"])
        #expect(entries.compactMap { $0["path"]?.string } == ["/pcast/key/camera", "/pcast/key/unknown"])
        #expect(entries.compactMap { $0["status"]?.number } == [200, 404])
        #expect(entries.allSatisfy { $0["credentials"]?.string == "secret" && $0["role"]?.string == "administer" })
        #expect(entries.allSatisfy { $0["application"]?.string == "first" && $0["address"]?.string == "127.0.0.1" })
        #expect(!entries.contains { $0.text.contains("secret-of-the-client") })
    }

    @Test("a file that is full is renamed, replaces the one before, and long paths are cut")
    func rotation() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let audit = AuditLog(
            directory: directory.path, limit: 2_000, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let long = String(repeating: "a", count: 5_000)
        for number in 0..<30 {
            let author = RequestAuthor(
                .token, subject: "anna", address: "192.0.2.7", method: "DELETE", path: "/\(number)\n\(long)")
            audit.record(author, of: ApplicationID("first"), .operate, status: 200)
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(files == ["audit.log", "audit.log.1"])
        let lines = try files.reversed().flatMap { file in
            try String(contentsOf: directory.appendingPathComponent(file), encoding: .utf8).split(separator: "\n")
        }
        // Two entries fill a file. The last ones are there, in their order.
        var numbers: [Int] = []
        for line in lines {
            let path = try #require(try JSONValue(Array(line.utf8)).object?["path"]?.string)
            #expect(path.utf8.count == 512)
            numbers.append(try #require(Int(path.dropFirst().prefix { $0 != "\n" })))
        }
        #expect((2...4).contains(numbers.count))
        #expect(numbers == Array((30 - numbers.count)..<30))
    }
}

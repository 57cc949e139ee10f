import Foundation
import PCastCore
import Testing

@testable import PCastDatabase

@Suite("Stored stream keys")
struct StreamKeyTests {
    private static let application = ApplicationID("first")
    private static let now = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    @Test("a key is found by its secret until it is rotated or revoked")
    func find() async throws {
        let records = try Records.inMemory()
        let made = try #require(
            try await records.setStreamKey(
                "a", of: Self.application, tags: ["x"], capabilities: ["y"], at: Self.now))
        #expect(try await records.streamKey(matching: made.secret) == made)
        #expect(try await records.streamKey(matching: made.secret + "x") == nil)
        let rotated = try #require(
            try await records.rotateStreamKey("a", of: Self.application, at: Self.now + .seconds(1)))
        #expect(rotated.secret != made.secret && rotated.rotated == Self.now + .seconds(1))
        #expect(try await records.streamKey(matching: made.secret) == nil)
        #expect(try await records.streamKey(matching: rotated.secret) == rotated)
        #expect(try await records.revokeStreamKey("a", of: Self.application))
        #expect(try await records.streamKey(matching: rotated.secret) == nil)
        #expect(try await !records.revokeStreamKey("a", of: Self.application))
        #expect(try await records.rotateStreamKey("a", of: Self.application, at: Self.now) == nil)
    }

    @Test("the keys of applications are separate, and ordered by name")
    func list() async throws {
        let records = try Records.inMemory()
        for (name, application) in [("b", "first"), ("a", "first"), ("a", "second")] {
            _ = try await records.setStreamKey(
                name, of: ApplicationID(application), tags: [], capabilities: [], at: Self.now)
        }
        #expect(try await records.streamKeys(of: Self.application).map(\.name) == ["a", "b"])
        #expect(try await records.streamKeys(of: ApplicationID("second")).count == 1)
        #expect(try await records.streamKeys(of: ApplicationID("third")).isEmpty)
    }

    @Test("the database does not contain a key, and keeps it, and another sealing key is noticed")
    func sealed() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-keys-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var records: Records? = try Records.open(folder)
        let made = try #require(
            try await records?.setStreamKey("a", of: Self.application, tags: [], capabilities: [], at: Self.now))
        records = nil
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            #expect(bytes.range(of: Data(made.secret.utf8)) == nil, "\(name)")
        }
        records = try Records.open(folder)
        #expect(try await records?.streamKey(matching: made.secret) == made)
        records = nil
        let path = "\(folder)/records.key"
        try (Base64.encode([UInt8](repeating: 7, count: 32)) + "\n").write(
            toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: RecordsError.self) { try Records.open(folder) }
    }
}

@Suite("Stored declarations of named streams")
struct DeclarationRecordTests {
    private static func declaration(_ name: String, _ text: String) -> DeclarationRecord {
        DeclarationRecord(application: ApplicationID("first"), name: name, body: Array(text.utf8))
    }

    @Test("a declaration is kept until it is replaced or removed, and the database does not contain its text")
    func persistence() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-names-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = "rtsp://user:password@camera.example"
        do {
            let records = try Records.open(folder)
            try await records.setDeclaration(Self.declaration("b", "{}"))
            try await records.setDeclaration(Self.declaration("a", "former"))
            try await records.setDeclaration(Self.declaration("a", text))
            try await records.setDeclaration(Self.declaration("c", "{}"))
            try await records.removeDeclaration("c")
            try await records.removeDeclaration("unknown")
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            #expect(bytes.range(of: Data("password".utf8)) == nil, "\(name)")
        }
        do {
            let records = try Records.open(folder)
            #expect(try await records.declarations() == [Self.declaration("a", text), Self.declaration("b", "{}")])
        }
        // Another sealing key is noticed at the start.
        try (Base64.encode([UInt8](repeating: 7, count: 32)) + "\n").write(
            toFile: "\(folder)/records.key", atomically: true, encoding: .utf8)
        #expect(throws: RecordsError.self) { try Records.open(folder) }
    }
}

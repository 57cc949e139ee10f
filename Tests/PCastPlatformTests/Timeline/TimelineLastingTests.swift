import Foundation
import Logging
import PCastCore
import PCastJSON
import PCastPlatform
import PCastTimeline
import Testing

@Suite("The persistence of a timeline")
struct TimelineLastingTests {
    private static let game = "/timeline/NHL/..%2Fodd%20name"

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-timeline-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    private func file(in folder: String) throws -> String {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return folder + "/" + (try #require(names.first { $0.hasSuffix(".jsonl") }))
    }

    @Test("a restarted platform replays a game and continues its log with the next number")
    func replayed() async throws {
        try await withFolder { folder async throws in
            try await TestPlatform.run(records: StorageConfiguration(directory: folder)) { platform async throws in
                let past = "?recordedAt=2020-01-01T00:00:01Z"
                #expect(try await platform.ask("POST", Self.game + "/events/a" + past, "{}").status == 201)
                #expect(try await platform.ask("POST", Self.game + "/events/b", #"{"x":"ö\n"}"#).status == 201)
                try await TimelineListener.follow(platform, Self.game + "/changes") { listener, _ async throws in
                    #expect(try await listener.reaches(2))
                    #expect(listener.revisions[0].recordedAt == WallTime(millisecondsSinceEpoch: 1_577_836_801_000))
                }
            }
            let file = try file(in: folder)
            #expect(file.hasPrefix(folder + "/timelines/first/NHL/"))
            // The platform was killed while it wrote a line.
            let handle = try #require(FileHandle(forWritingAtPath: file))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(#"{"seq":3,"at":1,"rec"#.utf8))
            try handle.close()
            let record = LogRecord()
            try await TestPlatform.run(
                records: StorageConfiguration(directory: folder), logger: record.logger
            ) { platform async throws in
                #expect(try await platform.ask("DELETE", Self.game + "/events/a").body.contains(#""seq":3"#))
                try await TimelineListener.follow(platform, Self.game + "/changes?since=1") {
                    listener, _ async throws in
                    #expect(try await listener.reaches(2))
                    #expect(listener.revisions.map(\.number.value) == [2, 3])
                    #expect(listener.revisions[0].event?.object["x"]?.string == "ö\n")
                    let text = try String(contentsOfFile: file, encoding: .utf8)
                    #expect(text.split(separator: "\n").count == 4)
                    let begun = try #require(listener.beginning)
                    #expect(text.contains(begun.log.description))
                }
            }
            #expect(record.lines.contains { $0.contains("incomplete line") })
        }
    }

    @Test("a log that is damaged in the middle is unused and unchanged, and other games continue")
    func broken() async throws {
        try await withFolder { folder async throws in
            try await TestPlatform.run(records: StorageConfiguration(directory: folder)) { platform async throws in
                for id in ["a", "b"] {
                    #expect(try await platform.ask("POST", Self.game + "/events/\(id)", "{}").status == 201)
                }
            }
            let file = try file(in: folder)
            let broken = try String(contentsOfFile: file, encoding: .utf8).replacing("\"seq\":1", with: "\"seq\":7")
            try broken.write(toFile: file, atomically: true, encoding: .utf8)
            try await TestPlatform.run(records: StorageConfiguration(directory: folder)) { platform async throws in
                #expect(try await platform.ask("POST", Self.game + "/events/c", "{}").status == 503)
                #expect(try await platform.send("GET", Self.game).status == 503)
                #expect(try await platform.ask("POST", "/timeline/NHL/other/events/c", "{}").status == 201)
            }
            #expect(try String(contentsOfFile: file, encoding: .utf8) == broken)
        }
    }

    @Test("a file that ends within its first line is started again")
    func cutAtTheBeginning() async throws {
        try await withFolder { folder async throws in
            let path = folder + "/timelines/first/NHL"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try #"{"log":"ab"#.write(toFile: path + "/1.jsonl", atomically: true, encoding: .utf8)
            try await TestPlatform.run(records: StorageConfiguration(directory: folder)) { platform async throws in
                #expect(try await platform.send("GET", "/timeline/NHL/1").status == 404)
                #expect(try await platform.ask("POST", "/timeline/NHL/1/events/c", "{}").status == 201)
            }
        }
    }
}

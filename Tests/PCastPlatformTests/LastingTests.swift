import Foundation
import GRDB
import Logging
import PCastCore
import PCastEdgeAuth
import PCastPlatform
import Testing

@testable import PCastDatabase

/// Runs `body` with a temporary directory.
func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "pcast-platform-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// The data that persists over a restart.
@Suite struct LastingTests {
    @Test("streams, viewers, applications and sessions persist over a restart") func restart()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let keeping = StorageConfiguration(directory: directory)
            var (stream, session) = ("", "")
            let own = try Tokens.make()
            try await TestPlatform.run(records: keeping) { platform in
                let token = try Tokens.make { $0.forPublishingOnly().applyTag("red") }
                stream = try await platform.publish(token: token).stream
                #expect(
                    try await platform.post("/whep", try Offers.viewer(), token: try Tokens.viewing()).status == 201)
                let opened = Opened()
                try await ProtocolClient.run(platform) { client async throws in
                    await opened.set(try await client.authenticate(own) ?? "")
                }
                session = await opened.id
            }
            // The applications are the previous ones.
            try await TestPlatform.run(applications: [], records: keeping) { platform in
                #expect(platform.listening.applications.map(\.id.description) == ["first", "second"])
                let past = try await platform.ask("GET", "/pcast/stream/\(stream)")
                #expect(past.status == 200)
                for part in [
                    #""reason":"maintenance""#, #""tags":["red"]"#, #""views":1"#, #""mostViewers":1"#, #""viewers":0"#,
                ] { #expect(past.body.contains(part), "\(part) in \(past.body)") }
                #expect(try await platform.ask("GET", "/pcast/streams").body.contains(#""streams":[]"#))
                #expect(try await platform.ask("GET", "/pcast/streams?state=ended").body.contains(stream))
                let ended = try await platform.ask("POST", "/pcast/stream", #"{"originStreamId":"\#(stream)"}"#)
                #expect(ended.status == 410)
                #expect(ended.body.contains("origin-ended"))
                let known = session
                try await ProtocolClient.run(platform) { client async throws in
                    #expect(try await client.authenticate(own, session: known) == known)
                }
                // The owner of a session persists, too.
                try await ProtocolClient.run(platform) { client async throws in
                    let other = try Tokens.make { $0.withCapability("other") }
                    #expect(try await client.authenticate(other, session: known) != known)
                }
            }
        }
    }

    private actor Opened {
        private(set) var id = ""
        func set(_ id: String) { self.id = id }
    }

    @Test("without a directory nothing persists, and the generated application is used") func inMemory() async throws {
        let keeping = StorageConfiguration(fallback: TestPlatform.application)
        try await TestPlatform.run(applications: [], records: keeping) { platform async throws in
            #expect(platform.listening.applications.map(\.id) == [TestPlatform.application.id])
            #expect(try await platform.ask("GET", "/pcast/streams").status == 200)
        }
    }

    @Test("damaged data, or another platform's, prevents the start with a sentence") func start()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let keeping = StorageConfiguration(directory: directory)
            try await TestPlatform.run(records: keeping) { _ async throws in
                let error = await #expect(throws: PlatformError.self) {
                    try await TestPlatform.run(records: keeping) { _ in }
                }
                #expect("\(try #require(error))".contains("another platform uses \(directory)"))
            }
            try Data("no database at all, but long enough to be taken for one".utf8).write(
                to: URL(fileURLWithPath: directory + "/records.sqlite"))
            let error = await #expect(throws: PlatformError.self) {
                try await TestPlatform.run(records: keeping) { _ in }
            }
            #expect("\(try #require(error))".contains("restore it from a backup"))
        }
    }
}

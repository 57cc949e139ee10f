import Foundation
import Testing

extension EndToEnd {
    /// The exit statuses by which scripts distinguish results.
    @Suite("Exit statuses")
    struct ExitStatusTests {
        @Test(
            "status 2: arguments are unusable",
            arguments: [
                ["publish", "--fps", "0"], ["publish", "--nonsense"], ["subscribe", "--for", "soon"],
                ["subscribe", "--screenshot", "picture.bmp"], ["serve", "--listen", "127.0.0.1:http"],
                ["token", "create", "--application", "a:b"],
                ["publish", "--uri", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"],
                ["publish", "--encoder", "nonsense"], ["subscribe", "--record", "rec.avi"],
                ["play", "film.mp4", "--render", "null", "--overlay", "/nowhere/pages"],
                ["serve", "--listen", "127.0.0.1:0", "--media-directory", "/nowhere/films"],
            ])
        func arguments(_ arguments: [String]) async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.start(BuiltProgram.path("pcast"), arguments)
                try await program.expectExitStatus(2)
                #expect(!program.messages.lines.values.isEmpty)
            }
        }

        @Test("status 4: nothing to play, without a platform and with an empty one")
        func nothingToPlay() async throws {
            try await TestWorkspace.run { workspace in
                let alone = try workspace.pcast("subscribe")
                try await alone.expectExitStatus(4)
                let platform = try await LocalPlatform.start(in: workspace)
                let token = try await platform.viewingToken("stream-that-never-was")
                let viewer = try workspace.pcast("subscribe", "--uri", platform.uri, "--token", token)
                try await viewer.expectExitStatus(4)
                let end = try workspace.pcast(
                    "streams", "end", "stream-that-never-was", "--reason", "ended", "--uri", platform.uri,
                    "--application", LocalPlatform.application)
                try await end.expectExitStatus(4)
            }
        }

        @Test("status 5: a missing source, which also ends its platform")
        func noSource() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0", "--video", "nowhere.mp4")
                try await publisher.expectExitStatus(5)
                #expect(workspace.credentialsFiles.isEmpty)
            }
        }

        @Test("status 6: no platform at that address")
        func unreachable() async throws {
            try await TestWorkspace.run { workspace in
                for command in ["publish", "subscribe"] {
                    let token = try await workspace.token(LocalPlatform.application)
                    let program = try workspace.pcast(command, "--uri", "http://127.0.0.1:1", "--token", token)
                    try await program.expectExitStatus(6)
                }
                let player = try workspace.pcast("play", "pcast://127.0.0.1:1/some-stream", "--render", "null")
                try await player.expectExitStatus(6)
                #expect(player.messages.lines.values.contains { $0.contains("pcast://127.0.0.1:1/some-stream") })
            }
        }

        @Test("status 3: tokens with another signature, expired tokens, and tokens for another purpose")
        func unauthorized() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let foreign = try await workspace.token("studio:guessed")
                let viewing = try await platform.viewingToken("some-stream")
                let expired = try await workspace.run(
                    BuiltProgram.path("pcast"),
                    ["token", "create", "--application", LocalPlatform.application, "--expires-at", "1000"]
                ).output[0]
                let refused = [
                    ("publish", foreign), ("publish", expired), ("publish", viewing), ("subscribe", foreign),
                    ("subscribe", expired), ("publish", "DIGEST:bad-token"),
                ]
                for (command, token) in refused {
                    let program = try workspace.pcast(command, "--uri", platform.uri, "--token", token)
                    try await program.expectExitStatus(3)
                }
                let host = platform.uri.dropFirst("http://".count)
                let player = try workspace.pcast(
                    "play", "pcast://\(host)/#token=\(foreign.addingPercentEncoding)", "--render", "null")
                try await player.expectExitStatus(3)
                let pull = try workspace.pcast("pull", "http://a.example/film.mp4", "--uri", "http://platform.example")
                try await pull.expectExitStatus(3)
                let list = try workspace.pcast(
                    "streams", "list", "--uri", platform.uri, "--application", "studio:guessed")
                try await list.expectExitStatus(3)
            }
        }

        @Test("status 7: the platform ended the stream, with the reason for publisher and viewer")
        func endedByPlatform() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0", "--tag", "news")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let viewer = try workspace.pcast("subscribe")
                _ = try await viewer.event("firstFrame")
                let list = try workspace.pcast("streams", "list")
                try await list.expectExitStatus(0)
                let listed = try await list.event("stream")
                #expect(listed["streamId"].text == stream)
                #expect(listed["tags"] == .list([.text("news")]))
                #expect(listed["viewers"] == .number(1))

                let end = try workspace.pcast("streams", "end", stream, "--reason", "censored")
                try await end.expectExitStatus(0)
                for program in [publisher, viewer] {
                    #expect(try await program.event("ended")["reason"].text == "censored")
                    try await program.expectExitStatus(7)
                }
                #expect(workspace.credentialsFiles.isEmpty)
            }
        }
    }
}

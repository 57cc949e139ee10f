import PCastCore
import PCastPlatform
import Testing

@testable import PCastCLI

/// The section with declared streams of the configuration file.
@Suite("Declared streams in the configuration file")
struct StreamsSectionTests {
    private func read(_ text: String) throws -> StreamDeclarations {
        try ConfigurationFile(text: text, path: "pcast.yaml").streams
    }

    /// Returns the error of a text; nil if it is valid.
    private func mistake(_ text: String) -> String? {
        do throws(CommandFailure) {
            _ = try ConfigurationFile(text: text, path: "pcast.yaml")
            return nil
        } catch {
            return error.sentence
        }
    }

    @Test("a declaration has all keys")
    func keys() throws {
        let streams = try read(
            """
            streams:
              lobby:
                application: studio
                source: rtsp://user:secret@camera.example/1
                onDemand: true
                closeAfter: 5s
                fallback: slate.mp4
                slate: Back soon
                standby: true
                switchBack: false
                forward:
                  - rtmp://live.example/app/key
                  - srt://live.example:9000
                record: true
                capabilities: streaming
              show:
              "cam-*":
                fallback: lobby
                slate: ""
            """)
        var lobby = StreamDeclaration(name: "lobby")
        lobby.application = ApplicationID("studio")
        lobby.source = "rtsp://user:secret@camera.example/1"
        lobby.isOnDemand = true
        lobby.closeAfter = .seconds(5)
        lobby.fallback = .file("slate.mp4")
        lobby.slate = "Back soon"
        lobby.hasStandby = true
        lobby.switchesBack = false
        lobby.forward = ["rtmp://live.example/app/key", "srt://live.example:9000"]
        lobby.isRecorded = true
        lobby.capabilities = ["streaming"]
        var cameras = StreamDeclaration(name: "cam-*")
        cameras.fallback = .stream("lobby")
        cameras.slate = ""
        #expect(streams.all == [lobby, StreamDeclaration(name: "show"), cameras])
    }

    @Test("an empty section declares nothing")
    func empty() throws {
        #expect(try read("streams:").all.isEmpty)
        #expect(try read("serve:").all.isEmpty)
    }

    @Test(
        "a mistake names the line, the key and the nearest valid name",
        arguments: [
            ("streams:\n  a:\n    sorce: rtsp://h/1", ["line 3", "sorce", "did you mean “source”"]),
            ("streams:\n  a:\n    onDemand: yes", ["line 3", "onDemand"]),
            ("streams:\n  a:\n    closeAfter: soon", ["line 3", "closeAfter"]),
            ("streams:\n  a:\n    source: gopher://h", ["line 3", "source", "rtsp"]),
            ("streams:\n  show:\n    fallback: slat\n  slate:", ["line 3", "fallback", "did you mean “slate”"]),
            ("streams:\n  a:\n    fallback: b\n  b:\n    fallback: a", ["line 3", "a → b → a"]),
            ("streams:\n  a:\n    slate: до 10", ["line 3", "slate", "“д”"]),
            ("streams:\n  a/b:", ["line 2", "a/b"]),
            ("streams:\n  a: text", ["line 2", "a"]),
            ("streams:\n  a:\n    forward: ftp://h/", ["line 3", "forward"]),
            ("streems:\n  a:", ["line 1", "did you mean “streams”"]),
        ])
    func mistakes(text: String, parts: [String]) throws {
        let sentence = try #require(mistake(text))
        for part in parts { #expect(sentence.contains(part), "\(sentence)") }
    }

    @Test("the text of a mistake has no password")
    func secrets() throws {
        let sentence = try #require(mistake("streams:\n  a:\n    source: ftp://user:secret@h/"))
        #expect(!sentence.contains("secret"))
    }
}

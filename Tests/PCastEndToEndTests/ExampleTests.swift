import Foundation
import PCastCore
import Testing

extension EndToEnd {
    /// The programs of `Examples/`, run as a reader would run them.
    @Suite("Examples")
    struct ExampleTests {
        @Test("one example publishes and another watches through its platform", .timeLimit(.minutes(5)))
        func publishAndWatch() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let authentication = try await platform.authenticationToken()
                let publisher = try workspace.start(
                    BuiltProgram.path("PublishExample"),
                    [platform.uri, authentication, await platform.publishingToken(), "synthetic"])
                let stream = try await platform.stream()
                let frame = workspace.path("picture.png")
                let viewer = try workspace.start(
                    BuiltProgram.path("WatchExample"),
                    [platform.uri, authentication, await platform.viewingToken(stream), stream, "5", frame])
                for program in [viewer, publisher] {
                    // It publishes until its viewer has finished.
                    if program === publisher { try await platform.end(stream) }
                    try await program.expectExitStatus(0)
                    let lines = program.output.lines.values
                    #expect(lines.first?.hasPrefix("session ") == true, "\(program.report)")
                    #expect(lines.contains { $0.contains(" frames, ") }, "\(program.report)")
                    #expect(lines.contains { $0.hasPrefix("ended:") }, "\(program.report)")
                    #expect(!lines.contains { $0.hasPrefix("failed:") }, "\(program.report)")
                }
                if ThisMachine.hasFFmpeg {
                    let stamps = try await MediaFile(path: frame, workspace: workspace).stamps()
                    #expect(stamps.count == 1 && stamps[0] != nil)
                }
            }
        }

        /// The platform listens on the usual ports, so both get a network of their own.
        @Test(
            "The README's example of the SDK publishes and watches at its example of a platform",
            .enabled(if: ThisMachine.hasNamespaces), .timeLimit(.minutes(5)))
        func quickStart() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-quickstart-\(getpid())"
                let server = try await Self.serve(in: network, of: workspace)
                let example = try workspace.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [network, BuiltProgram.path("QuickStartExample")])
                try await example.expectExitStatus(0)
                let printed = example.output.lines.values.last
                #expect(printed?.isEmpty == false, "\(example.report)")
                if ThisMachine.hasFFmpeg {
                    let frame = try await MediaFile(path: workspace.path("first.png"), workspace: workspace).track(
                        "video")
                    #expect("\(Dimensions(width: frame.width, height: frame.height))" == printed)
                }
                try await server.end()
            }
        }

        /// Starts the example of a platform in a network of its own, and waits until it listens.
        private static func serve(in network: String, of workspace: TestWorkspace) async throws -> RunningProgram {
            let serving = """
                "$0" & until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do sleep 0.05; done; echo listening; wait
                """
            let server = try workspace.start(
                "\(BuiltProgram.peers)/namespace.sh",
                [network, "bash", "-c", serving, BuiltProgram.path("ServeExample")])
            guard await server.output.lines.first(where: { $0 == "listening" }) != nil else {
                throw EndToEndFailure("the example does not listen\n\(server.report)")
            }
            return server
        }

        /// The platform listens on the default ports, so it has its own network.
        @Test(
            "a platform that is embedded in a program serves clients", .enabled(if: ThisMachine.hasNamespaces),
            .timeLimit(.minutes(5)))
        func serve() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-example-\(getpid())"
                let script = "\(BuiltProgram.peers)/namespace.sh"
                let server = try await Self.serve(in: network, of: workspace)
                let application = "my-application:my-secret"
                let tokens = [
                    try await workspace.token(application, "--type", "auth"),
                    try await workspace.token(application, "--type", "publish"),
                ]
                let publisher = try workspace.start(
                    script,
                    [network, BuiltProgram.path("PublishExample"), "http://127.0.0.1:8080"] + tokens
                        + ["synthetic", "5"])
                try await publisher.expectExitStatus(0)
                let lines = publisher.output.lines.values
                #expect(lines.contains { $0.contains(" frames, ") }, "\(publisher.report)")
                try await server.end()
            }
        }

        @Test(
            "an application with a platform on its router shares its port, its decisions and its shutdown",
            .timeLimit(.minutes(5)))
        func embed() async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.start(BuiltProgram.path("EmbedExample"), ["0"])
                let listening = try await program.message(containing: "uri=http")
                let uri = try #require(listening.firstMatch(of: /uri=(http:[^ ]+)/).map { String($0.1) })
                let curl = { (arguments: [String]) in
                    try await workspace.run("curl", ["-sS"] + arguments).output.joined(separator: "\n")
                }
                #expect(try await curl(["\(uri)/"]) == "my application")
                // The platform may begin to run after its host: until then, curl retries. With `--fail`, it does not print
                // the bodies of failed responses.
                let health = try await curl(["--fail", "--retry", "30", "--retry-delay", "1", "\(uri)/healthz"])
                #expect(health == #"{"status":"ok"}"#)

                let application = "my-application:my-secret"
                let authentication = try await workspace.token(application, "--type", "auth")
                let guest = try await workspace.token(application, "--type", "publish", "--apply-tag", "guest")
                let rejected = try workspace.start(
                    BuiltProgram.path("PublishExample"), [uri, authentication, guest, "synthetic", "2"])
                try await rejected.expectExitStatus(0)
                #expect(rejected.output.lines.values.contains { $0.hasPrefix("failed:") }, "\(rejected.report)")

                let token = try await workspace.token(application, "--type", "publish")
                for end in ["censored", "maintenance"] {
                    let publisher = try workspace.start(
                        BuiltProgram.path("PublishExample"), [uri, authentication, token, "synthetic"])
                    let line = try #require(
                        await publisher.output.lines.first { $0.hasPrefix("publishing ") }, "\(publisher.report)")
                    let stream = String(line.dropFirst("publishing ".count))
                    #expect(try await curl(["\(uri)/my-streams"]) == "\(stream) has 0 viewers")
                    if end == "censored" {
                        _ = try await curl(["-X", "DELETE", "\(uri)/my-streams/\(stream)"])
                    } else {
                        program.send(SIGTERM)
                    }
                    try await publisher.expectExitStatus(0)
                    let lines = publisher.output.lines.values
                    #expect(lines.contains("ended: \(end)"), "\(publisher.report)")
                    let event = try await program.message(containing: "event=ended(\(stream)")
                    #expect(event.contains(end), "\(event)")
                }
                try await program.expectExitStatus(0)
                #expect(program.messages.lines.values.contains { $0.contains("event=started(") })
            }
        }
    }
}
